#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Holds what bench_peak says of this machine against programs that share nothing with it: matrix
products by the OpenBLAS of NumPy (PyPI, installed into build/deps) and a copy as STREAM does it.
They take turns with bench_peak; of each the fastest round counts, as there. Not a test, since its
answer depends on the machine's quiet: run it by hand, with nothing else running.
"""
import argparse
import json
import pathlib
import tempfile

from by_hand import from_pypi, run

# Stores go through the caches, as those of bench_peak do: a call of memcpy would pass them by. Large
# arrays are in huge pages, as the suite's are: small ones cost a virtual machine up to a quarter.
COPY = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
static double* array(long doubles) {
  const long huge = 2 << 20, bytes = (doubles * 8 + huge - 1) / huge * huge;
  void* made = std::aligned_alloc(huge, bytes);
  madvise(made, bytes, MADV_HUGEPAGE);
  return static_cast<double*>(made);
}
int main(int, char** words) {
  const long all = std::atol(words[1]) / 2 / 8;
  double *const from = array(all), *const to = array(all);
#pragma omp parallel for schedule(static)
  for (long i = 0; i < all; ++i) from[i] = 1.0 / (1 + i), to[i] = 0;
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel for schedule(static)
    for (long i = 0; i < all; ++i) to[i] = from[i];
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() < best) best = took.count();
  }
  std::printf("%.9g\n", to[all - 1] > 0 ? 16.0 * all / best : 0);
}
"""

PRODUCT = r"""
import sys, time, numpy
side = int(sys.argv[1])
values = numpy.random.default_rng(1)
a, b = (values.uniform(-1, 1, (side, side)).astype("f") for _ in range(2))
c = numpy.empty_like(a)
best = 1e9
until = time.perf_counter() + 2
while time.perf_counter() < until:
    begin = time.perf_counter()
    numpy.matmul(a, b, out=c)
    best = min(best, time.perf_counter() - begin)
print(2 * side ** 3 / best)
"""


def peaks(build, threads, folder):
    """FLOP/s, side of the product, bytes/s of a copy in memory and its bytes, of one round."""
    file = folder / "peaks.json"
    run(build / "bench" / "bench_peak", f"--threads={threads}", "--benchmark_repetitions=1",
        "--benchmark_filter=square|copy_memory|call", "--benchmark_format=json",
        f"--benchmark_out={file}")
    rows = json.loads(file.read_text())["benchmarks"]
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    seconds = {each["name"]: each["real_time"] * unit[each["time_unit"]] for each in rows}
    products = [each for each in rows if "/square_" in each["name"]]
    best = max(products, key=lambda each: each["flops_exact"] / seconds[each["name"]])
    copy = next(each for each in rows if "/copy_memory" in each["name"])
    call = next(each for each in rows if "/call" in each["name"])
    return (best["flops_exact"] / seconds[best["name"]], round((best["flops_exact"] / 2) ** (1 / 3)),
            copy["bytes"] / (seconds[copy["name"]] - seconds[call["name"]]), int(copy["bytes"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    build, threads = options.build.resolve(), options.threads
    place = from_pypi(build, "numpy", "numpy", "lib/python*/site-packages/numpy")
    numpy = place / "bin" / "python"
    seen = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "copy.cpp").write_text(COPY)
        run("c++", "-O3", "-march=native", "-fopenmp", "-fno-tree-loop-distribute-patterns",
            "-o", folder / "copy", folder / "copy.cpp")
        print("round  GFLOP/s  OpenBLAS  copy GB/s  STREAM")
        for index in range(options.rounds):
            flops, side, copied, size = peaks(build, threads, folder)
            product = float(run(numpy, "-c", PRODUCT, side, OPENBLAS_NUM_THREADS=str(threads)))
            stream = float(run(folder / "copy", size, OMP_NUM_THREADS=str(threads)))
            seen.append((flops, product, copied, stream))
            print(f"{index + 1:>5} " + " ".join(f"{each / 1e9:>8.2f}" for each in seen[-1]),
                  flush=True)
    flops, product, copied, stream = (max(each) for each in zip(*seen))
    print(f"fastest: product {flops / product:.3f} of OpenBLAS, copy {copied / stream:.3f} of STREAM")


main()
