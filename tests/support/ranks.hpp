// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench.hpp"

/// The benchmark programs as several ranks.
namespace layerbench::testing {

/// Variables for mpirun: more ranks than processors, and root, are no mistake in a test.
inline const environment launcher{{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                  {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                  {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                  may_leak};

/// Arguments of mpirun that start `ranks` ranks of a program.
[[nodiscard]] inline texts started(int ranks, const texts& arguments,
                                   const std::string& program = "bench_allreduce") {
  texts all{"-np", std::to_string(ranks), bench_path(program)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace layerbench::testing
