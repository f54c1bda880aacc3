// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <vector>

#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>

namespace layerbench::mpi {

/// An all-reduce of this rank's arrays. All ranks make the same calls.
class reduction {
 public:
  /// In place, the constructor copies `from` to `to` first.
  reduction(const allreduce_arguments& what, const void* from, void* to)
      : from_(what.in_place != 0 ? MPI_IN_PLACE : from),
        to_(to),
        count_(static_cast<int>(what.count)),
        type_(datatype_of(what.type)) {
    const auto bytes = static_cast<std::size_t>(what.count) * traits(what.type).bytes;
    if (what.in_place != 0 && from != to) std::memcpy(to, from, bytes);
  }

  void run(std::int64_t calls = 1) const {
    for (std::int64_t i = 0; i < calls; ++i) {
      MPI_Allreduce(from_, to_, count_, type_, MPI_SUM, MPI_COMM_WORLD);
    }
  }
  /// Makes untimed calls, then waits until all ranks have.
  void warm_up(std::int64_t calls) const {
    run(calls);
    rank_group::barrier();
  }

 private:
  const void* from_;
  void* to_;
  int count_;
  MPI_Datatype type_;
};

/// Any rank but the leader, in a program that measures collectives.
class worker {
 public:
  explicit worker(const rank_group& ranks) : ranks_(ranks) {}

  /// Executes the leader's commands up to the end. An error ends all ranks.
  void serve() {
    try {
      mpi::serve(ranks_, [&](const command& next) { execute(next); });
    } catch (const std::exception& e) {
      ranks_.abort_all(e.what());
    }
  }

 private:
  void execute(const command& next) {
    const auto count = static_cast<std::size_t>(next.arrays.count);
    reserve(count * traits(next.arrays.type).bytes);
    switch (next.what) {
      case command::kind::upload: return receive_operand(next, count);
      case command::kind::download: return send_operand(next, count);
      case command::kind::allreduce: {
        const reduction calls(next.arrays, arrays_.front().data(), arrays_.back().data());
        calls.warm_up(next.warm_up);
        return calls.run(next.count);
      }
      default: throw error("the leader sent a command that this program does not know");
    }
  }

  [[nodiscard]] typed_span operand_of(const command& next) {
    return {next.arrays.type, arrays_.at(static_cast<std::size_t>(next.index)).data()};
  }

  void receive_operand(const command& next, std::size_t count) {
    const typed_span operand = operand_of(next);
    // NaN everywhere: verification fails unless the all-reduce writes its results.
    std::memset(arrays_.back().data(), 0xFF, bytes_);
    std::vector<float> values;
    for_each_chunk(count, [&](std::size_t first, std::size_t size) {
      values.resize(size);
      MPI_Recv(values.data(), static_cast<int>(size), MPI_FLOAT, 0, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      operand.store(first, values);
    });
  }

  void send_operand(const command& next, std::size_t count) {
    const typed_span operand = operand_of(next);
    std::vector<float> values;
    for_each_chunk(count, [&](std::size_t first, std::size_t size) {
      values.resize(size);
      operand.load(first, values);
      MPI_Send(values.data(), static_cast<int>(size), MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    });
  }

  /// Grows the arrays to at least `bytes`. New arrays are written, because the system maps
  /// unwritten memory to one page of zeros, which stays in the caches.
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    for (host_buffer& array : arrays_) {
      array = {};  // frees the old array first
      array = host_buffer(bytes);
      std::memset(array.data(), 0x3F, bytes);
    }
  }

  const rank_group& ranks_;
  std::array<host_buffer, 2> arrays_;  ///< src and dst
  std::size_t bytes_ = 0;
};

}  // namespace layerbench::mpi
