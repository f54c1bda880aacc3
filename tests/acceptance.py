#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""What `layerbench versus` finds where the truth is known. Not a test, since its answer depends on
the machine's quiet: run it by hand, with nothing else running.

  self      a program against itself: model and layers should be the same
  delay     one layer takes 3 % longer (tests/planted_delay.cpp): it should be slower, and no other
  versions  oneDNN 3.0 (PyPI 2023.0.0, installed into build/deps) against the one of the build

A try takes 2 * rounds * (max-time + 5) seconds: with the defaults 20 tries of `self` 50 minutes, 10
tries of `delay` 50 minutes, one of `versions` 5 minutes.
"""
import argparse
import collections
import json
import pathlib
import tempfile

from by_hand import from_pypi, run

LAYER = "layer3_1_conv2"
DEFAULTS = {"self": (20, 5), "delay": (10, 10), "versions": (1, 10)}  # tries and rounds


def built_with_old_library(build):
    """bench_model with oneDNN 3.0; one built with 3.2 cannot load that."""
    library = from_pypi(build, "onednn-3.0", "onednn-devel-cpu-gomp==2023.0.0", "lib/libdnnl.so*")
    place = build.parent / "onednn-3.0"
    run("cmake", "-S", pathlib.Path(__file__).parents[1], "-B", place, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
        f"-DCMAKE_PREFIX_PATH={library}")
    run("cmake", "--build", place, "--target", "bench_model")
    return str(place / "bench" / "bench_model")


def sides(what, build):
    program = str(build / "bench" / "bench_model")
    if what == "delay":
        planted = str(build / "tests" / "planted_delay")
        return [planted, "0"], [planted, "3"]
    if what == "versions":
        return [built_with_old_library(build)], [program]
    return [program], [program]


def compared_once(what, seed, options):
    """The comparison of one try, and the drivers of the model's change, whatever its size."""
    tool = str(options.build / "tools" / "layerbench")
    measure = ["--model=resnet50", f"--threads={options.threads}", f"--max-time={options.max_time}"]
    old, new = sides(what, options.build)
    with tempfile.TemporaryDirectory() as kept:
        found = json.loads(run(tool, "versus", f"--rounds={options.rounds}", f"--seed={seed}",
                               f"--keep={kept}", "--format=json", "--", *old, *measure,
                               "--", *new, *measure, codes=(0, 4)))
        files = [",".join(f"{kept}/{side}_{i + 1}.json" for i in range(found["versus"]["rounds"]))
                 for side in ("old", "new")]
        every = json.loads(run(tool, "compare", "--paired", "--margin=0.001", "--format=json",
                               *files, codes=(0, 4)))
    return found, [each["name"] for each in every["models"][0]["drivers"]]


def row(seed, found, drivers):
    model = found["models"][0]
    layers = collections.Counter(each["verdict"] for each in found["layers"])
    planted = next(each for each in found["layers"] if f"/{LAYER}/" in each["name"])
    print(f"{seed:>3}  {model['ratio']:.4f} ({model['low']:.4f} to {model['high']:.4f}) "
          f"{model['verdict']:<8} {layers['faster']:>6} {layers['slower']:>6} {layers['same']:>5} "
          f"{layers['unclear']:>7}  {planted['ratio']:.4f} {planted['verdict']:<8} "
          f"{drivers[0] if drivers else ''}", flush=True)
    others = [each for each in found["layers"] if each is not planted]
    called = sum(each["verdict"] in ("faster", "slower") for each in others)
    return model["verdict"], planted["verdict"], called, len(others), drivers[:1] == [LAYER]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=DEFAULTS)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--tries", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-time", type=float, default=10, help="seconds a process measures")
    options = parser.parse_args()
    options.build = options.build.resolve()
    tries, rounds = DEFAULTS[options.what]
    tries = options.tries or tries
    options.rounds = options.rounds or rounds
    print("try  step new / old             verdict  faster slower  same unclear  "
          f"{LAYER} and driver")
    rows = [row(seed, *compared_once(options.what, seed, options)) for seed in range(1, tries + 1)]
    models = collections.Counter(each[0] for each in rows)
    called = sum(each[2] for each in rows) / sum(each[3] for each in rows)
    print(f"model: {dict(models)}; other layers called faster or slower: {100 * called:.2f} %; "
          f"{LAYER} slower in {sum(each[1] == 'slower' for each in rows)} of {tries}, "
          f"first driver in {sum(each[4] for each in rows)}")


main()
