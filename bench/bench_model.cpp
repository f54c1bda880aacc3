// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(
      argc, argv,
      programs::suite_program(
          {.name = "bench_model",
           .purpose = "Times every layer of deep-learning models and predicts the models.",
           .ops = {}},
          programs::compute_registry(), programs::ranks()));
}
