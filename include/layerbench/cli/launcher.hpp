// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

/// How the processes of a program were started.
namespace layerbench::run {

/// The processes that a launcher started together.
struct launch {
  std::int64_t processes = 1;     ///< this one included
  std::string_view launcher{};    ///< `mpirun` or `srun`; empty where there was none
  bool offers_connection = true;  ///< what MPI needs to make them ranks of one program
};

/// Reads the variables of Open MPI's mpirun, of PMI (MPICH, Intel MPI, Slurm's PMI2), and of a job
/// step of Slurm. In this order: mpirun starts its own processes on the nodes by srun, one each.
[[nodiscard]] launch this_launch();

/// How many processes a launcher started, this one included; 1 where there was none.
[[nodiscard]] inline std::int64_t launched_processes() { return this_launch().processes; }

/// Throws usage_error if a launcher started processes that cannot become ranks of one program: each
/// would be the only rank of its program, disturb the others and replace their results. To be
/// called before MPI is initialised: Open MPI ends even a single process that srun does not
/// connect.
void require_connection();

/// Throws usage_error if MPI, once initialised, has one rank although a launcher started several
/// processes: that of another MPI, or without what this MPI needs.
void require_all_ranks(std::int64_t ranks);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/launcher-inl.hpp>
#endif
