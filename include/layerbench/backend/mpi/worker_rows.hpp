// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <layerbench/backend/collective_buffers.hpp>
#include <layerbench/backend/mpi/command.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/plan.hpp>

namespace layerbench::mpi {

/// The workers of a collective, as the leader commands them: rank i has row i of each operand. With
/// one process there are none.
class worker_rows {
 public:
  worker_rows(library used, const op::collective& o, dtype type,
              const std::vector<plan_operand>& operands)
      : ranks_(rank_group::all()), library_(used), collective_(o), type_(type) {
    for (const plan_operand& item : operands) operands_.push_back(item.logical);
  }

  /// `values` are the rows of all ranks.
  void upload(std::size_t operand, std::span<const float> values) const {
    send(command::kind::upload, operand);
    std::vector<std::byte> stored;
    for_each_chunk_of_workers(operand, values, [&](int rank, auto chunk, std::size_t bytes) {
      stored.resize(bytes);
      store_row(operands_[operand], chunk, stored.data());
      MPI_Send(stored.data(), static_cast<int>(bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD);
    });
  }
  void download(std::size_t operand, std::span<float> values) const {
    send(command::kind::download, operand);
    std::vector<std::byte> stored;
    for_each_chunk_of_workers(operand, values, [&](int rank, auto chunk, std::size_t bytes) {
      stored.resize(bytes);
      MPI_Recv(stored.data(), static_cast<int>(bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      load_row(operands_[operand], stored.data(), chunk);
    });
  }
  /// Lets the workers warm up, wait at a barrier and make `calls` calls.
  void announce(std::int64_t warm_up, std::int64_t calls, bool recorded = false) const {
    ranks_.send(command{.what = command::kind::communicate,
                        .count = calls,
                        .library = library_,
                        .collective = collective_,
                        .type = type_,
                        .warm_up = warm_up,
                        .recorded = recorded ? 1 : 0});
  }

 private:
  void send(command::kind what, std::size_t operand) const {
    ranks_.send(command{.what = what,
                        .operand = static_cast<std::int64_t>(operand),
                        .library = library_,
                        .collective = collective_,
                        .type = type_});
  }

  /// Calls `work(rank, chunk, bytes)` for consecutive chunks of the rows of `values` that belong to
  /// workers; `bytes` is the size of the chunk in their memory.
  template <class Number, class Work>
  void for_each_chunk_of_workers(std::size_t operand, std::span<Number> values, Work&& work) const {
    const op::operand& of = operands_[operand];
    const std::size_t element = traits(type_).bytes;
    const auto row = static_cast<std::size_t>(of.extents[1]);
    const std::int64_t rows = std::min<std::int64_t>(of.extents[0], ranks_.size());
    for (int rank = 1; rank < rows; ++rank) {
      const std::span own = values.subspan(static_cast<std::size_t>(rank) * row);
      for_each_chunk(row_bytes(of), [&](std::size_t first, std::size_t bytes) {
        work(rank, own.subspan(first / element, bytes / element), bytes);
      });
    }
  }

  rank_group& ranks_;
  library library_;
  op::collective collective_;
  dtype type_;
  std::vector<op::operand> operands_;
};

}  // namespace layerbench::mpi
