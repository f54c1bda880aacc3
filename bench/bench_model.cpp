// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#ifdef LAYERBENCH_HAS_MPI
#include <layerbench/run/mpi/company.hpp>
#endif

int main(int argc, char** argv) {
#ifdef LAYERBENCH_HAS_MPI
  const layerbench::run::company_maker make_company = [] {
    return std::make_unique<layerbench::run::mpi_company>();
  };
#else
  const layerbench::run::company_maker make_company;
#endif
  return run_suite(argc, argv,
                   {.name = "bench_model",
                    .purpose = "Times every layer of deep-learning models and predicts the models.",
                    .ops = {}},
                   make_company);
}
