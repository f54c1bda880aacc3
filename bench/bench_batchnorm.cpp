// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(
      argc, argv,
      programs::suite_program(
          {.name = "bench_batchnorm",
           .purpose =
               "Times the batch, layer and local response normalisations of deep-learning models.",
           .ops = {"batchnorm", "lrn", "layernorm", "groupnorm"}}));
}
