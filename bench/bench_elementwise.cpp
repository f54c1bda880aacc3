// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(
      argc, argv,
      programs::suite_program(
          {.name = "bench_elementwise",
           .purpose =
               "Times the elementwise ops of deep-learning models, and those that copy elements.",
           .ops = {"activation", "add", "multiply", "append", "rotary", "concat", "pad", "slice",
                   "transpose", "embedding"}}));
}
