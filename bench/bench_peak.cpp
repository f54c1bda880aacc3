// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(
      argc, argv,
      programs::suite_program(
          {.name = "bench_peak",
           .purpose = "Measures how fast this machine is at best: FLOP/s of large matrix "
                      "products, bytes/s of each level of memory.",
           .ops = {"gemm", "stream"},
           .peaks = true}));
}
