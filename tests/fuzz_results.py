#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Gives the tool damaged result files: each ends with a documented exit code, bad input names the
file, and nothing crashes. Meant for a build with sanitizers:

  tests/fuzz_results.py --build build/asan --seconds 600

A file that fails is kept, and how to see it again is printed; exit code 1.
"""
import copy
import json
import pathlib

from by_hand import fuzz

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
        return ["report", one, other, "--format", draw.choice(["html", "markdown"]), "-o", out,
                "--overwrite"]
    pair = [one, other] if what == "compare" else [one]
    return [what, *draw.choice([pair, pair[::-1]]), "--format", draw.choice(formats[what])]


def attack(draw, tool, stem):
    """A command on one damaged file, and what to hold of it."""
    one, other = stem.with_suffix(".json"), stem.with_name(f"{stem.name}_other.json")
    one.write_bytes(mutant(draw))
    other.write_bytes(mutant(draw) if draw.random() < 0.5
                      else (GOLDEN / "tiny_results.json").read_bytes())

    def wrong_with(code, errors):
        nameless = code == 3 and str(stem.parent) not in errors
        return "bad input without a file's name" if nameless else ""

    return [tool, *commands(draw, one, other)], wrong_with


fuzz(__doc__, CODES, attack)
