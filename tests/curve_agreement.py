#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the curve of a model against steps that the curve did not see: `bench_model --curve` measures
it, then chains run at sizes that are spread evenly over the others, and at the one with the highest
throughput. Prints the errors, how many steps are inside their intervals, by how much the chosen size
falls short of the fastest measured one, and the seconds that the curve took. Not a test, since its
answer depends on the machine: run it by hand, with nothing else running.

  tests/curve_agreement.py resnet50 --batch=1..64
  tests/curve_agreement.py gpt2 --context=0..1000 --tokens=1
"""
import argparse
import json
import math
import pathlib
import statistics
import tempfile
import time

from by_hand import run

AXES = ("batch", "tokens", "context")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def spread(points, number):
    """Sizes of unmeasured points, evenly by the logarithm."""
    sizes = [each["size"] for each in points if each["from"] != "measured"]
    low, high = (math.log(end + 1) for end in (sizes[0], sizes[-1]))
    marks = [low + (high - low) * i / max(1, number - 1) for i in range(number)]
    return sorted({min(sizes, key=lambda size: abs(math.log(size + 1) - mark)) for mark in marks})


def smallest_layer(tool, file):
    """The layer of the least time: only rows of one layer run beside the chains."""
    layers = json.loads(run(tool, "predict", file, "--format=json"))["predictions"][0]["layers"]
    return min(layers, key=lambda each: each["share"])["name"]


def chains_in(file, over):
    """Seconds of a step by size, the median of the rounds."""
    taken = {}
    for row in json.loads(file.read_text())["benchmarks"]:
        if not row["run_name"].startswith("chain/") or row["run_type"] != "iteration":
            continue
        size = next((int(part.split(":")[1]) for part in row["run_name"].split("/")
                     if part.startswith(over + ":")), 0)
        seconds = row.get("mean_s", row["real_time"] * UNITS[row["time_unit"]])
        taken.setdefault(size, []).append(seconds)
    return {size: statistics.median(rounds) for size, rounds in taken.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for axis in AXES:
        parser.add_argument(f"--{axis}", help="as for bench_model; one is a range, such as 1..64")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--budget", type=float, default=60, help="seconds of the curve")
    parser.add_argument("--held-out", type=int, default=10, help="steps that the curve does not see")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the result files")
    parser.epilog = "Other options are those of bench_model."
    asked, options = parser.parse_known_args()
    sizes = {axis: getattr(asked, axis) for axis in AXES if getattr(asked, axis)}
    over = next((axis for axis, text in sizes.items() if ".." in text), None)
    if over is None:
        parser.error("give a range to --batch, --tokens or --context")
    wanted = sizes.pop(over)
    options += [f"--{axis}={text}" for axis, text in sizes.items()]
    bench, tool = asked.build / "bench/bench_model", asked.build / "tools/layerbench"
    folder = asked.keep or pathlib.Path(tempfile.mkdtemp(prefix="layerbench_curve_"))
    folder.mkdir(parents=True, exist_ok=True)
    curve_file, held_out_file = folder / "curve.json", folder / "held_out.json"
    begin = time.monotonic()
    run(bench, asked.model, *options, "--curve", f"--{over}={wanted}",
        f"--budget={asked.budget}", f"--benchmark_out={curve_file}", "--overwrite", codes=(0, 4))
    taken = time.monotonic() - begin
    curve = json.loads(run(tool, "curve", curve_file, f"--sizes={wanted}",
                           f"--over={over}", "--format=json", codes=(0, 4)))["curves"][0]
    points = {each["size"]: each for each in curve["points"]}
    held_out = spread(curve["points"], asked.held_out)
    sizes = sorted({*held_out, curve["fastest"]})
    run(bench, asked.model, *options, f"--{over}={','.join(map(str, sizes))}", "--chain",
        f"--benchmark_filter=/{smallest_layer(tool, curve_file)}/", "--overwrite",
        f"--benchmark_out={held_out_file}", codes=(0, 4))
    measured = chains_in(held_out_file, over)
    errors, inside = [], 0
    print(f"{'size':>6} {'predicted ms':>13} {'between':>21} {'measured ms':>12} {'error':>8}  from")
    for size in held_out:
        point, seconds = points[size], measured[size]
        errors.append(point["seconds_per_step"] / seconds - 1)
        low, high = point["seconds_low"], point["seconds_high"]
        inside += low is not None and low <= seconds <= high
        between = "not known" if low is None else f"{low * 1e3:.4g} to {high * 1e3:.4g}"
        print(f"{size:>6} {point['seconds_per_step'] * 1e3:>13.4g} {between:>21} {seconds * 1e3:>12.4g} "
              f"{errors[-1]:>+8.1%}  {point['from']}")
    absolute = [abs(each) for each in errors]
    print(f"{asked.model} over {over}: measured {' '.join(map(str, curve['measured']))}")
    print(f"error: mean {statistics.mean(absolute):.1%}, worst {max(absolute):.1%}; "
          f"inside: {inside} of {len(errors)}; the curve took {taken:.1f} s")
    if over != "context":
        rates = {size: points[size]["items_per_second"] * points[size]["seconds_per_step"] / seconds
                 for size, seconds in measured.items()}
        regret = 1 - rates[curve["fastest"]] / max(rates.values())
        print(f"chosen size: {curve['fastest']}, {regret:.1%} below the fastest measured one")


if __name__ == "__main__":
    main()
