// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>
#include <mpi.h>
#include <nccl.h>

#include <fmt/format.h>

#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/nccl/backend.hpp>

/// NCCL between GPUs that a launcher gave a process each, on one or several hosts. MPI starts NCCL
/// and carries the leader's commands. Without a launcher this is NCCL in a single process.
namespace layerbench::nccl_mpi {

/// The GPU that a rank takes: that of its number among the ranks of its host, or the only one
/// which the launcher shows it.
struct gpu_of_rank {
  int host = 0;                       ///< the first rank on the host
  std::array<char, 32> bus_id = {};   ///< empty without a GPU
  std::array<char, 256> reason = {};  ///< why there is none
};

/// Makes the GPU of this rank the current device. Throws unavailable without one.
inline void choose_gpu() {
  if (const auto reason = cuda::unavailable_reason()) throw unavailable(*reason);
  cuda::device_backend::choose(mpi::rank_group::all().rank_on_host() % cuda::device_count());
}

/// Sends the leader the GPU of this rank. Returns those of all ranks to the leader.
[[nodiscard]] inline std::vector<gpu_of_rank> gather_gpus() {
  const mpi::rank_group& ranks = mpi::rank_group::all();
  gpu_of_rank own{.host = ranks.first_rank_on_host()};
  try {
    choose_gpu();
    cuda::bus_id_of(cuda::current_device()).copy(own.bus_id.data(), own.bus_id.size() - 1);
  } catch (const std::exception& e) {
    std::string_view(e.what()).copy(own.reason.data(), own.reason.size() - 1);
  }
  std::vector<gpu_of_rank> all(ranks.is_leader() ? static_cast<std::size_t>(ranks.size())
                                                 : std::size_t{0});
  MPI_Gather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
  return all;
}

/// Why these ranks cannot have a GPU each; nothing if they can.
[[nodiscard]] inline std::optional<std::string> conflict_of(const std::vector<gpu_of_rank>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].bus_id[0] == '\0')
      return fmt::format("rank {}: {}", rank, all[rank].reason.data());
  }
  for (const gpu_of_rank& first : all) {
    std::set<std::string> gpus;
    std::size_t ranks = 0;
    for (const gpu_of_rank& item : all) {
      if (item.host != first.host) continue;
      ++ranks;
      gpus.insert(item.bus_id.data());
    }
    if (gpus.size() == ranks) continue;
    return fmt::format(
        "{} ranks run on the host of rank {}, which offers {} GPU{}, and NCCL needs one per rank; "
        "start at most {} there",
        ranks, first.host, gpus.size(), gpus.size() == 1 ? "" : "s", gpus.size());
  }
  return std::nullopt;
}

/// The same on every rank; all call it at the same time.
[[nodiscard]] inline std::optional<std::string> conflict_between_ranks() {
  const std::vector<gpu_of_rank> all = gather_gpus();
  std::array<char, 512> text = {};
  if (mpi::rank_group::all().is_leader()) {
    conflict_of(all).value_or("").copy(text.data(), text.size() - 1);
  }
  MPI_Bcast(text.data(), text.size(), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (text.front() == '\0') return std::nullopt;
  return text.data();
}

/// The communicator of this rank. All ranks call it at the same time. Throws api_error.
[[nodiscard]] inline nccl::membership connect() {
  const mpi::rank_group& ranks = mpi::rank_group::all();
  choose_gpu();
  ncclUniqueId id{};
  if (ranks.is_leader()) cuda::check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t raw = nullptr;
  cuda::check(ncclCommInitRank(&raw, ranks.size(), id, ranks.rank()), "ncclCommInitRank");
  const auto end_all = [](const std::string& why) { mpi::rank_group::all().abort_all(why); };
  return {{nccl::owned(raw, end_all)}, ranks.rank(), ranks.size()};
}

}  // namespace layerbench::nccl_mpi
