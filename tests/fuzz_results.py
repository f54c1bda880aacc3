#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Gives the tool damaged result files: each ends with a documented exit code, bad input names the
file, and nothing crashes. Meant for a build with sanitizers:

  tests/fuzz_results.py --build build/asan --seconds 600

A file that fails is kept, and how to see it again is printed; exit code 1.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

GOLDEN = pathlib.Path(__file__).parent / "golden"
CODES = {0, 2, 3, 4, 5}  # done, usage, bad input, incomplete, nothing matched
VALUES = [None, True, "", "x" * 70000, "\0\u2028<script>", "ns", -1, 0, 1, 2**63, -(2**63), 2**64,
          1e308, -1e308, 5e-324, 1e-15, [], {}, [[]], {"a": {}}]
BYTES = b'{}[]",:\\-+.eE0123456789 \n\x00\xff\xc3tfnu'


def places(node):
    """Every list and object in `node`, that included."""
    yield node
    for each in node.values() if isinstance(node, dict) else node:
        if isinstance(each, (dict, list)):
            yield from places(each)


def change(draw, root):
    """Changes a value: removes, doubles, replaces it, or moves another one to its place."""
    filled = [each for each in places(root) if each]
    if not filled:
        return
    inside = draw.choice(filled)
    key = draw.choice(list(inside)) if isinstance(inside, dict) else draw.randrange(len(inside))
    how = draw.randrange(5)
    if how == 0:
        del inside[key]
    elif how == 1:
        inside[key] = copy.deepcopy(draw.choice(VALUES))
    elif how == 2 and isinstance(inside, list):
        inside.insert(key, inside[draw.randrange(len(inside))])
    elif how == 3 and isinstance(inside[key], str) and inside[key]:
        inside[key] = damaged(draw, inside[key].encode()).decode("latin-1")
    else:
        other = draw.choice(filled)
        inside[key] = copy.deepcopy(draw.choice(
            list(other.values()) if isinstance(other, dict) else other))


def damaged(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at, length = draw.randrange(len(data) + 1), draw.choice([0, 1, 1, 4, 200])
        if draw.random() < 0.05:
            del data[at:]
        else:
            new = bytes(draw.choice(BYTES) for _ in range(draw.choice([0, 1, 1, 4])))
            data[at:at + length] = new
        if not data:
            break
    return bytes(data)


def mutant(draw):
    text = draw.choice(sorted(GOLDEN.glob("*.json"))).read_bytes()
    if draw.random() < 0.3:
        return damaged(draw, text)
    root = json.loads(text)
    if draw.random() < 0.4:  # it is JSON in a string
        plan = json.loads(root["context"]["manifest"])
        change(draw, plan)
        root["context"]["manifest"] = json.dumps(plan)
    for _ in range(draw.choice([0, 1, 1, 2, 5])):
        change(draw, root)
    return json.dumps(root).encode()


def commands(draw, one, other):
    out = one.with_suffix(".html")
    formats = {"predict": ["text", "json", "csv", "bmf"], "validate": ["text", "json", "csv"],
               "compare": ["text", "json", "csv"]}
    what = draw.choice([*formats, "report"])
    if what == "report":
        return ["report", one, other, "--format", draw.choice(["html", "markdown"]), "-o", out]
    pair = [one, other] if what == "compare" else [one]
    return [what, *draw.choice([pair, pair[::-1]]), "--format", draw.choice(formats[what])]


def attack(seed, tool, folder):
    """The exit code, and what was wrong, of one damaged file."""
    draw = random.Random(seed)
    one, other = folder / f"{seed}.json", folder / f"{seed}_other.json"
    one.write_bytes(mutant(draw))
    other.write_bytes(mutant(draw) if draw.random() < 0.5
                      else (GOLDEN / "tiny_results.json").read_bytes())
    words = [str(each) for each in [tool, *commands(draw, one, other)]]
    try:
        done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", f"took more than a minute: {' '.join(words)}"
    errors = done.stderr.decode("latin-1")
    wrong = ""
    if done.returncode not in CODES:
        wrong = f"exit code {done.returncode}"
    elif "Sanitizer" in errors or "runtime error" in errors:
        wrong = "sanitizers complain"
    elif done.returncode == 3 and str(folder) not in errors:
        wrong = "bad input without a file's name"
    if wrong:
        return done.returncode, f"{wrong}: {' '.join(words)}\n{errors[:2000]}"
    for each in [one, other, one.with_suffix(".html")]:
        each.unlink(missing_ok=True)
    return done.returncode, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/asan"))
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1, help="of the first file")
    options = parser.parse_args()
    tool = options.build.resolve() / "tools" / "layerbench"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="layerbench_fuzz_"))
    end = time.monotonic() + options.seconds
    seed, seen, failures = options.seed, collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        while time.monotonic() < end and failures < 10:
            some = range(seed, seed + 100)
            for code, wrong in pool.map(lambda each: attack(each, tool, folder), some):
                seen[code] += 1
                if wrong:
                    failures += 1
                    print(wrong, flush=True)
            seed = some.stop
    print(f"{sum(seen.values())} files; exit codes: {dict(sorted(seen.items(), key=str))}")
    if failures:
        raise SystemExit(f"the files are in {folder}")
    folder.rmdir()


main()
