// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#ifdef LAYERBENCH_HAS_MPI
#include <layerbench/ranks/mpi/communicator.hpp>
#endif

int main(int argc, char** argv) {
#ifdef LAYERBENCH_HAS_MPI
  const layerbench::run::communicator_factory make_communicator = [] {
    return std::make_unique<layerbench::run::mpi_communicator>();
  };
#else
  const layerbench::run::communicator_factory make_communicator;
#endif
  return run_suite(argc, argv,
                   {.name = "bench_model",
                    .purpose = "Times every layer of deep-learning models and predicts the models.",
                    .ops = {}},
                   make_communicator);
}
