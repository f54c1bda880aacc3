#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Gives `layerbench import onnx` damaged models: each ends with a documented exit code, bad input names
the file, messages have no control characters, what is written loads again, and nothing crashes. Meant
for a build with sanitizers:

  tests/fuzz_onnx.py --build build/asan --seconds 600

A file that fails is kept, and how to see it again is printed; exit code 1.
"""
import argparse
import collections
import concurrent.futures
import copy
import os
import pathlib
import random
import resource
import subprocess
import tempfile
import time

MODELS = pathlib.Path(__file__).parent / "data/onnx"
CODES = {0, 3, 4}  # done, bad input, incomplete
NUMBERS = [0, 1, 2, 3, 7, 127, 2**16, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**64 - 1, 2**64 - 7]
# Messages inside of others, by the numbers of their fields in onnx.proto.
INNER = {"model": {7: "graph"}, "graph": {1: "node", 5: "tensor"}, "node": {5: "attribute"},
         "attribute": {5: "tensor"}}


def read_varint(data, at):
    value, shift = 0, 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def varint(value):
    result = bytearray()
    while value >= 0x80:
        result.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes(result) + bytes([value])


def parse(data, kind):
    """The fields of a message: lists of number, wire type and value."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value, at = data[at:at + size], at + size
        inner = INNER.get(kind, {}).get(number)
        fields.append([number, wire, parse(value, inner) if inner and wire == 2 else value])
    return fields


def serialized(fields):
    result = bytearray()
    for number, wire, value in fields:
        result += varint(number << 3 | wire)
        if wire == 0:
            result += varint(value)
            continue
        value = serialized(value) if isinstance(value, list) else value
        result += (varint(len(value)) if wire == 2 else b"") + value
    return bytes(result)


def messages(fields):
    """The message and all in it."""
    yield fields
    for _, _, value in fields:
        if isinstance(value, list):
            yield from messages(value)


def change(draw, root):
    """Removes, doubles, moves or replaces a field somewhere."""
    all_messages = [one for one in messages(root) if one]
    if not all_messages:
        return
    inside = draw.choice(all_messages)
    at = draw.randrange(len(inside))
    number, wire, value = inside[at]
    how = draw.randrange(7)
    if how == 0:
        del inside[at]
    elif how == 1:
        inside.insert(at, copy.deepcopy(inside[draw.randrange(len(inside))]))
    elif how == 2:
        inside[at] = copy.deepcopy(draw.choice(draw.choice(all_messages)))
    elif how == 3:
        inside[at] = [draw.randrange(1, 25), wire, value]
    elif wire == 0:
        inside[at] = [number, wire, draw.choice(NUMBERS)]
    elif isinstance(value, bytes):
        inside[at] = [number, wire, damaged(draw, value) if draw.random() < 0.5 else draw.choice(
            [b"", b"\x00", b"\x1b[31m", b"Reshape", b"Conv", b"x"])
            if wire == 2 else draw.randbytes(len(value))]


def damaged(draw, data):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at = draw.randrange(len(data) + 1)
        if draw.random() < 0.05:
            del data[at:]
        else:
            data[at:at + draw.choice([0, 1, 1, 4, 200])] = draw.randbytes(draw.choice([0, 1, 1, 4]))
        if not data:
            break
    return bytes(data)


def mutant(draw):
    data = draw.choice(sorted(MODELS.glob("*.onnx"))).read_bytes()
    if draw.random() < 0.2:
        return damaged(draw, data)
    root = parse(data, "model")
    for _ in range(draw.choice([1, 1, 2, 5])):
        change(draw, root)
    return serialized(root)


def attack(seed, tool, folder):
    """The exit code, and what was wrong, of one damaged file."""
    draw = random.Random(seed)
    file, out = folder / f"{seed}.onnx", folder / f"{seed}.json"
    file.write_bytes(mutant(draw))
    words = [str(one) for one in [tool, "import", "onnx", file, "-o", out]]
    words += draw.choice([[], ["--allow-partial"]])
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
    elif any(ord(one) < 32 and one != "\n" or ord(one) > 126 for one in errors):
        wrong = "a control character in a message"
    elif done.returncode == 3 and str(file) not in errors:
        wrong = "bad input without a file's name"
    elif out.exists() != (done.returncode == 0):
        wrong = "a shape file in spite of an error, or none"
    elif out.exists():
        shown = subprocess.run([tool, "show", out], capture_output=True, check=False)
        if shown.returncode != 0:
            wrong = f"a shape file that does not load: {shown.stderr.decode()}"
    if wrong:
        return done.returncode, f"{wrong}: {' '.join(words)}\n{errors[:2000]}"
    file.unlink()
    out.unlink(missing_ok=True)
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
            for code, wrong in pool.map(lambda one: attack(one, tool, folder), some):
                seen[code] += 1
                if wrong:
                    failures += 1
                    print(wrong, flush=True)
            seed = some.stop
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{sum(seen.values())} files; exit codes: {dict(sorted(seen.items(), key=str))}; "
          f"at most {most} MiB in one process")
    if failures:
        raise SystemExit(f"the files are in {folder}")
    folder.rmdir()


main()
