#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Gives `layerbench import` damaged models, ONNX files, traced calls of PyTorch and GGUF files: each ends
with a documented exit code, bad input names the file, messages have no control characters, what is written
loads again, and nothing crashes. Meant for a build with sanitizers:

  tests/fuzz_import.py --build build/asan --seconds 600

A file that fails is kept, and how to see it again is printed; exit code 1.
"""
import copy
import functools
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from by_hand import fuzz

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import gguf_model  # noqa: E402

MODELS = pathlib.Path(__file__).parent / "data"
CODES = {0, 3, 4}  # done, bad input, incomplete
NUMBERS = [0, 1, 2, 3, 7, 127, 2**16, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**64 - 1, 2**64 - 7]
# Messages inside of others, by the numbers of their fields in onnx.proto.
INNER = {"model": {7: "graph"}, "graph": {1: "node", 5: "tensor"}, "node": {5: "attribute"},
         "attribute": {5: "tensor", 6: "graph"}}


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
    data = draw.choice(sorted(MODELS.glob("onnx/*.onnx"))).read_bytes()
    if draw.random() < 0.2:
        return damaged(draw, data)
    root = parse(data, "model")
    for _ in range(draw.choice([1, 1, 2, 5])):
        change(draw, root)
    return serialized(root)


def places(value):
    """Each container in a JSON value, with the keys of what is in it."""
    if isinstance(value, (dict, list)) and value:
        yield value, list(value) if isinstance(value, dict) else range(len(value))
        for one in value.values() if isinstance(value, dict) else value:
            yield from places(one)


def mutant_of_calls(draw):
    data = draw.choice(sorted(MODELS.glob("torch/*.json"))).read_bytes()
    if draw.random() < 0.1:
        return damaged(draw, data)
    root = json.loads(data)
    junk = [None, True, -1, 1.5, "", "%x", "batch", [], {}, ["batch", 2], [[]], [0], "same", *NUMBERS]
    for _ in range(draw.choice([1, 1, 2, 5])):
        inside, keys = draw.choice(list(places(root)))
        key = draw.choice(keys)
        if draw.random() < 0.2:
            del inside[key]
        else:
            inside[key] = copy.deepcopy(draw.choice([*junk, inside[draw.choice(keys)]]))
    return json.dumps(root).encode()


@functools.cache
def small_llama(kind):
    sizes = {"vocabulary": 64, "width": 64, "inner": 96, "depth": 2, "heads": 4, "kv_heads": 2, "d": 16,
             "epsilon": 1e-5, "tied": False}
    with tempfile.NamedTemporaryFile() as file:
        gguf_model.write(file.name, "small", sizes, kind)
        return pathlib.Path(file.name).read_bytes()


def mutant_of_gguf(draw):
    data = small_llama(draw.choice(["f32", "q4_0"]))
    header = bytearray(data[:data.rindex(b"output.weight") + 64])  # weights are not read
    for _ in range(draw.choice([0, 1, 1, 2])):
        form = draw.choice(["<I", "<Q"])
        at = draw.randrange(4, len(header) - 8)
        header[at:at + struct.calcsize(form)] = struct.pack(
            form, draw.choice(NUMBERS) % (1 << 8 * struct.calcsize(form)))
    return damaged(draw, bytes(header)) if draw.random() < 0.5 else bytes(header)


MUTANTS = {"onnx": mutant, "torch": mutant_of_calls, "gguf": mutant_of_gguf}


def attack(draw, tool, stem):
    """The import of one damaged file, and what to hold of it."""
    form = draw.choice(sorted(MUTANTS))
    file, out = stem.with_suffix(f".{form}"), stem.with_suffix(".json")
    file.write_bytes(MUTANTS[form](draw))

    def wrong_with(code, errors):
        letters = errors.encode("latin-1").decode(errors="replace")  # JSON's may be any
        most = 126 if form == "onnx" else 0x10FFFF
        if any(ord(one) < 32 and one != "\n" or 127 <= ord(one) < 160 or ord(one) > most
               for one in letters):
            return "a control character in a message"
        if code == 3 and str(file) not in errors:
            return "bad input without a file's name"
        if out.exists() != (code == 0):
            return "a shape file in spite of an error, or none"
        if out.exists():
            shown = subprocess.run([tool, "show", out], capture_output=True, check=False)
            if shown.returncode != 0:
                return f"a shape file that does not load: {shown.stderr.decode()}"
        return ""

    words = [tool, "import", form, file, "-o", out]
    return words + ([] if form == "gguf" else draw.choice([[], ["--allow-partial"]])), wrong_with


fuzz(__doc__, CODES, attack)
