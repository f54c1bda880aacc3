// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/host_backend.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/mpi/worker.hpp>

namespace layerbench::mpi {

/// The leader's side of MPI: the rank that measures.
class backend : public host_backend {
 public:
  static constexpr std::string_view name = "mpi";
  explicit backend(int /*threads*/) {}

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = host_backend::entry();
    own.describe = &describe;
    own.waits = true;
    own.ranks = [] { return rank_group::all().size(); };
    own.more_ranks =
        "mpirun -np N (as root with --allow-run-as-root) or srun --mpi=pmix --ntasks=N starts N of "
        "them";
    own.serve_first_rank = &serve_first_rank;
    return own;
  }

  /// Returns false on the leader. On a worker, executes the leader's commands up to the end, then
  /// returns true.
  static bool serve_first_rank() {
    if (rank_group::all().is_leader()) return false;
    worker(rank_group::all()).serve();
    return true;
  }

  static void describe(description& facts) {
    using enum field_dimension;
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string_view library(text.data(), static_cast<std::size_t>(length));
    facts["mpi_version"] = {std::string(library.substr(0, library.find_first_of(",\n"))), version};
    facts["mpi_clock"] = {"wall time of the first rank", version};
    facts["mpi_ranks"] = {std::to_string(rank_group::all().size()), setting};
    facts["mpi_hosts"] = {std::to_string(rank_group::all().hosts()), setting};
  }
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::mpi
