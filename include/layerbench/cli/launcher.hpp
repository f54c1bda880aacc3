// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/system.hpp>

/// How the processes of a program were started.
namespace layerbench::run {

/// The processes that a launcher started together.
struct launch {
  std::int64_t processes = 1;     ///< this one included
  std::string_view launcher{};    ///< `mpirun` or `srun`; empty where there was none
  bool offers_connection = true;  ///< what MPI needs to make them ranks of one program
};

namespace detail {

[[nodiscard]] inline bool is_set(const char* name) { return std::getenv(name) != nullptr; }

[[nodiscard]] inline std::optional<std::int64_t> number_in_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : machine::number_in(text);
}

/// Whether srun started this process. The shells of sbatch and salloc have the number of the job's
/// tasks, SLURM_NTASKS, too, but are no step (the output environment variables of srun(1) and
/// sbatch(1)).
[[nodiscard]] inline bool is_task_of_step() {
  return is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID");
}

}  // namespace detail

/// Reads the variables of Open MPI's mpirun, of PMI (MPICH, Intel MPI, Slurm's PMI2), and of a job
/// step of Slurm. In this order: mpirun starts its own processes on the nodes by srun, one each.
[[nodiscard]] inline launch this_launch() {
  const bool step = detail::is_task_of_step();
  if (const auto size = detail::number_in_variable("OMPI_COMM_WORLD_SIZE"))
    return {*size, "mpirun"};
  if (const auto size = detail::number_in_variable("PMI_SIZE")) {
    return {*size, step && detail::is_set("SLURM_MPI_TYPE") ? "srun" : "mpirun"};
  }
  const auto tasks = detail::number_in_variable("SLURM_STEP_NUM_TASKS");
  if (!step || !tasks) return {};
  constexpr std::array variables{"PMIX_RANK", "PMI_RANK", "PMI_FD"};
  return {*tasks, "srun", std::ranges::any_of(variables, detail::is_set)};
}

/// How many processes a launcher started, this one included; 1 where there was none.
[[nodiscard]] inline std::int64_t launched_processes() { return this_launch().processes; }

/// Throws usage_error if a launcher started processes that cannot become ranks of one program: each
/// would be the only rank of its program, disturb the others and replace their results. To be
/// called before MPI is initialised: Open MPI ends even a single process that srun does not
/// connect.
inline void require_connection() {
  const launch of = this_launch();
  if (of.offers_connection) return;
  throw usage_error(
      fmt::format("{} started {} process{} without the connection that MPI needs; start ranks with "
                  "srun --mpi=pmix (srun --mpi=list shows what Slurm has) or, inside of the job, "
                  "with mpirun",
                  of.launcher, of.processes, of.processes == 1 ? "" : "es"));
}

/// Throws usage_error if MPI, once initialised, has one rank although a launcher started several
/// processes: that of another MPI, or without what this MPI needs.
inline void require_all_ranks(std::int64_t ranks) {
  const launch of = this_launch();
  if (ranks > 1 || of.processes == 1) return;
  throw usage_error(
      fmt::format("{} started {} processes, but each is the only rank of its program: the MPI that "
                  "the program was built with does not know this launcher; use {}",
                  of.launcher, of.processes,
                  of.launcher == "srun" ? "srun --mpi=pmix, or mpirun inside of the job"
                                        : "the mpirun of that MPI"));
}

}  // namespace layerbench::run
