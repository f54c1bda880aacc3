#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Holds what bench_peak says of this machine against other programs: matrix products by the OpenBLAS
of NumPy (PyPI, installed into build/deps) and by oneDNN's BLAS function; a copy as STREAM does it, a
number at a time, and one that reads two lines in quarters before it writes them. They take turns with
bench_peak; of each the fastest round counts, as there. Not a test, since its answer depends on the
machine's quiet: run it by hand, with nothing else running.
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
using quarter __attribute__((vector_size(16))) = double;
template <class Number, int at_once>
static double best_of(const double* from, double* to, long bytes) {
  const long all = bytes / sizeof(Number);
  const Number* const source = reinterpret_cast<const Number*>(from);
  Number* const target = reinterpret_cast<Number*>(to);
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel for schedule(static)
    for (long i = 0; i < all; i += at_once) {
      Number read[at_once];
      for (int k = 0; k < at_once; ++k) read[k] = source[i + k];
      for (int k = 0; k < at_once; ++k) target[i + k] = read[k];
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() < best) best = took.count();
  }
  return 2. * bytes / best;
}
int main(int, char** words) {
  const long bytes = std::atol(words[1]) / 2 / 128 * 128, all = bytes / 8;
  double *const from = array(all), *const to = array(all);
#pragma omp parallel for schedule(static)
  for (long i = 0; i < all; ++i) from[i] = 1.0 / (1 + i), to[i] = 0;
  const double stream = best_of<double, 1>(from, to, bytes), lines = best_of<quarter, 8>(from, to, bytes);
  std::printf("%.9g %.9g\n", stream, to[all - 1] > 0 ? lines : 0);
}
"""

PRODUCT = r"""
import ctypes, sys, time, numpy
side = int(sys.argv[1])
values = numpy.random.default_rng(1)
a, b = (values.uniform(-1, 1, (side, side)).astype("f") for _ in range(2))
c = numpy.empty_like(a)
size, one, zero = ctypes.c_int64(side), ctypes.c_float(1), ctypes.c_float(0)
place = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, c)]
library = ctypes.CDLL(sys.argv[2])
plain = ctypes.c_char(b"N")

def by_onednn():
    library.dnnl_sgemm(plain, plain, size, size, size, one, place[0], size, place[1], size, zero,
                       place[2], size)

def flops(product):
    best = 1e9
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        begin = time.perf_counter()
        product()
        best = min(best, time.perf_counter() - begin)
    return 2 * side ** 3 / best

print(flops(lambda: numpy.matmul(a, b, out=c)), flops(by_onednn))
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
    library = next(build.parent.glob("deps/onednn/**/libdnnl.so"))
    seen = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "copy.cpp").write_text(COPY)
        run("c++", "-O3", "-march=native", "-fopenmp", "-fno-tree-loop-distribute-patterns",
            "-o", folder / "copy", folder / "copy.cpp")
        print("round  GFLOP/s  OpenBLAS    sgemm  copy GB/s   STREAM    lines")
        for index in range(options.rounds):
            flops, side, copied, size = peaks(build, threads, folder)
            limits = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
            products = run(numpy, "-c", PRODUCT, side, library, **limits).split()
            copies = run(folder / "copy", size, **limits).split()
            seen.append([float(each) for each in (flops, *products, copied, *copies)])
            print(f"{index + 1:>5} " + " ".join(f"{each / 1e9:>8.2f}" for each in seen[-1]),
                  flush=True)
    flops, openblas, sgemm, copied, stream, lines = (max(each) for each in zip(*seen))
    print(f"fastest: product {flops / openblas:.3f} of OpenBLAS, {flops / sgemm:.3f} of sgemm; "
          f"copy {copied / stream:.3f} of STREAM, {copied / lines:.3f} of lines")


main()
