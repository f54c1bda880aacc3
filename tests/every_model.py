#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Measures every model that ships once, as short as it goes, and holds that its prediction lacks no
layer: inference at batch 1, and training where the model has one. It tells nothing of speed. Not a
test, since it takes long: run it by hand.

  tests/every_model.py BUILD [--phase inference|training] [--model NAME ...] [-o FILE]

Writes a CSV with a line per model and phase: coverage, calls in a step, images/s, and the seconds
that all of it took. The exit code is 4 if a prediction lacks a layer.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from by_hand import run

SHORT = ("--max-time=0", "--benchmark_repetitions=1", "--benchmark_min_time=0")


def trains(tool, model):
    done = subprocess.run([tool, "show", model, "--phase=training"], capture_output=True,
                          check=False)
    return done.returncode == 0


def measured(build, model, phase):
    """The line of one model and phase."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "r.json"
        done = subprocess.run([build / "bench/bench_model", f"--model={model}", "--batch=1",
                               f"--phase={phase}", "--backend=onednn", "--threads=1", *SHORT,
                               f"--benchmark_out={results}", "--benchmark_format=json"],
                              capture_output=True, text=True, check=False)
        line = {"model": model, "phase": phase, "exit_code": done.returncode}
        if results.exists():
            text = run(build / "tools/layerbench", "predict", results, "--format=json",
                       codes=(0, 4))
            prediction = json.loads(text)["predictions"][0]
            line |= {"coverage": prediction["coverage"], "calls": len(prediction["layers"]),
                     "images_per_second": prediction["images_per_second"],
                     "missing": " ".join(prediction["missing"])}
        else:
            line |= {"coverage": 0, "missing": done.stderr.strip().splitlines()[-1][:200]}
        return line | {"seconds": round(time.monotonic() - start, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--phase", choices=["inference", "training"])
    parser.add_argument("--model", nargs="+")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default=sys.stdout)
    options = parser.parse_args()
    tool = options.build / "tools/layerbench"
    models = options.model or [model["name"] for model in
                               json.loads(run(tool, "list", "--format=json"))["models"]]
    table = csv.DictWriter(options.output, ["model", "phase", "coverage", "calls",
                                            "images_per_second", "seconds", "exit_code", "missing"])
    table.writeheader()
    incomplete = []
    for number, model in enumerate(models, 1):
        for phase in ("inference", "training"):
            if options.phase not in (None, phase) or (phase == "training" and
                                                      not trains(tool, model)):
                continue
            line = measured(options.build, model, phase)
            table.writerow(line)
            options.output.flush()
            if line["coverage"] != 1:
                incomplete.append(f"{model} {phase}")
            print(f"[{number}/{len(models)}] {model} {phase}: coverage {line['coverage']}, "
                  f"{line['seconds']} s", file=sys.stderr)
    if incomplete:
        print(f"incomplete: {', '.join(incomplete)}", file=sys.stderr)
        sys.exit(4)


if __name__ == "__main__":
    main()
