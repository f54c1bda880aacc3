// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(
      argc, argv,
      programs::suite_program({.name = "bench_allreduce",
                               .purpose = "Times all-reduces and other collectives of models' "
                                          "gradients. Start several ranks with mpirun -np N or "
                                          "srun.",
                               .ops = {"allreduce", "collective"},
                               .collective = true},
                              programs::collective_registry()));
}
