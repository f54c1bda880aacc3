// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/collective_buffers.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/mpi/command.hpp>
#include <layerbench/backend/mpi/rank_group.hpp>
#include <layerbench/backend/mpi/serve.hpp>

namespace layerbench::mpi {

/// Calls of a collective on this rank's arrays. All ranks make the same calls.
class collective_call {
 public:
  /// In place, the constructor copies the source, `from`, into the memory of the result, `to`.
  collective_call(const op::collective& o, dtype type, const void* from, void* to)
      : kind_(o.kind),
        from_(o.is_in_place() ? MPI_IN_PLACE : from),
        to_(to),
        count_(static_cast<int>(o.block(type))),
        type_(datatype_of(o, type)) {
    const int rank = rank_group::all().rank();
    if (!o.is_in_place() || rank >= o.sources() || from == to) return;
    std::memcpy(static_cast<std::byte*>(to) + source_offset(o, type, rank), from,
                row_bytes(o.operands(op::pass::fwd, type).front()));
  }

  /// The root of a broadcast does not wait for the others, so calls with one root would overlap.
  /// Each call has the next rank as its root, which has the array from the call before.
  void run(std::int64_t calls = 1) {
    for (std::int64_t i = 0; i < calls; ++i) call();
  }
  /// Makes untimed calls, then waits until all ranks have.
  void warm_up(std::int64_t calls) {
    run(calls);
    rank_group::barrier();
  }

 private:
  void call() {
    MPI_Comm all = MPI_COMM_WORLD;
    switch (kind_) {
      case op::collective_kind::all_reduce:
        MPI_Allreduce(from_, to_, count_, type_, MPI_SUM, all);
        break;
      case op::collective_kind::all_gather:
        MPI_Allgather(from_, count_, type_, to_, count_, type_, all);
        break;
      case op::collective_kind::reduce_scatter:
        MPI_Reduce_scatter_block(from_, to_, count_, type_, MPI_SUM, all);
        break;
      case op::collective_kind::broadcast:
        MPI_Bcast(to_, count_, type_, root_, all);
        root_ = (root_ + 1) % rank_group::all().size();
        break;
      case op::collective_kind::all_to_all:
        MPI_Alltoall(from_, count_, type_, to_, count_, type_, all);
        break;
    }
  }

  op::collective_kind kind_;
  const void* from_;
  void* to_;
  int count_;
  MPI_Datatype type_;
  int root_ = 0;  ///< of the next broadcast
};

/// What a library has on a worker: the arrays of this rank, a source and a result, and the calls
/// between those of all ranks.
class worker_arrays {
 public:
  worker_arrays() = default;
  worker_arrays(const worker_arrays&) = delete;
  worker_arrays& operator=(const worker_arrays&) = delete;
  virtual ~worker_arrays() = default;
  /// Grows both arrays to at least `bytes`.
  virtual void reserve(std::size_t bytes) = 0;
  /// Sets all bits of the result.
  virtual void set_result_bits() = 0;
  /// Copies bytes into an array, from its byte `first` on.
  virtual void write(std::size_t array, std::size_t first, std::span<const std::byte> bytes) = 0;
  virtual void read(std::size_t array, std::size_t first, std::span<std::byte> bytes) = 0;
  virtual void communicate(const command& next) = 0;
  /// Where the result of a command's collective begins in its memory, in bytes.
  [[nodiscard]] virtual std::size_t result_offset(const command& /*next*/) const { return 0; }
  /// Executes the commands that other libraries lack.
  virtual void execute(const command& /*next*/) {
    throw error("the leader sent a command that this program does not know");
  }
};

/// Arrays in memory of the host, and MPI's calls.
class host_arrays : public worker_arrays {
 public:
  /// New arrays are written, because the system maps unwritten memory to one page of zeros, which
  /// stays in the caches.
  void reserve(std::size_t bytes) override {
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    for (host_buffer& array : arrays_) {
      array = {};  // frees the old array first
      array = host_buffer(bytes);
      std::memset(array.data(), 0x3F, bytes);
    }
  }
  void set_result_bits() override { std::memset(arrays_.back().data(), 0xFF, bytes_); }
  void write(std::size_t array, std::size_t first, std::span<const std::byte> bytes) override {
    std::ranges::copy(bytes, bytes_of(array) + first);
  }
  void read(std::size_t array, std::size_t first, std::span<std::byte> bytes) override {
    std::copy_n(bytes_of(array) + first, bytes.size(), bytes.begin());
  }
  void communicate(const command& next) override {
    collective_call calls(next.collective, next.type, arrays_.front().data(),
                          arrays_.back().data());
    calls.warm_up(next.warm_up);
    calls.run(next.count);
  }

 private:
  [[nodiscard]] std::byte* bytes_of(std::size_t array) const {
    return static_cast<std::byte*>(arrays_.at(array).data());
  }

  std::array<host_buffer, 2> arrays_;  ///< src and dst
  std::size_t bytes_ = 0;
};

/// Any rank but the leader, in a program that measures collectives.
class worker {
 public:
  explicit worker(const rank_group& ranks) : ranks_(ranks) {
    add(library::mpi, std::make_unique<host_arrays>());
  }
  /// From now on executes the commands of a library, too.
  void add(library which, std::unique_ptr<worker_arrays> arrays) {
    arrays_[which] = std::move(arrays);
  }

  /// Executes the leader's commands up to the end. An error ends all ranks.
  void serve() {
    ranks_.do_or_abort([&] {
      mpi::serve([&] { return ranks_.receive<command>(); },
                 [&](const command& next) { execute(next); });
    });
  }

 private:
  void execute(const command& next) {
    worker_arrays& arrays = *arrays_.at(next.library);
    const std::vector<plan_operand> operands =
        operands_of_rank(next.collective, {.type = next.type});
    const auto reserve = [&] {
      arrays.reserve(std::max(operands.front().bytes, operands.back().bytes));
    };
    const auto index = static_cast<std::size_t>(next.operand);
    switch (next.what) {
      case command::kind::upload:
        reserve();
        return receive_row(arrays, operands.at(index).logical, index);
      case command::kind::download:
        reserve();
        return send_row(arrays, operands.at(index).logical, index,
                        index == 0 ? 0 : arrays.result_offset(next));
      case command::kind::communicate: reserve(); return arrays.communicate(next);
      default: return arrays.execute(next);
    }
  }

  void receive_row(worker_arrays& arrays, const op::operand& of, std::size_t array) {
    // NaN everywhere: verification fails unless the collective writes its results. Integers have
    // no NaN; they are found by comparison alone.
    arrays.set_result_bits();
    if (!has_row(of)) return;
    for_each_chunk(row_bytes(of), [&](std::size_t first, std::size_t size) {
      chunk_.resize(size);
      MPI_Recv(chunk_.data(), static_cast<int>(size), MPI_BYTE, 0, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      arrays.write(array, first, chunk_);
    });
  }

  void send_row(worker_arrays& arrays, const op::operand& of, std::size_t array,
                std::size_t begin) {
    if (!has_row(of)) return;
    for_each_chunk(row_bytes(of), [&](std::size_t first, std::size_t size) {
      chunk_.resize(size);
      arrays.read(array, begin + first, chunk_);
      MPI_Send(chunk_.data(), static_cast<int>(size), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    });
  }

  /// A broadcast has a source on the first rank only.
  [[nodiscard]] bool has_row(const op::operand& of) const { return ranks_.rank() < of.extents[0]; }

  const rank_group& ranks_;
  std::map<library, std::unique_ptr<worker_arrays>> arrays_;
  std::vector<std::byte> chunk_;
};

}  // namespace layerbench::mpi
