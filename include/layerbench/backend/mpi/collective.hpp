// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/collective.hpp>
#include <layerbench/backend/mpi/backend.hpp>

namespace layerbench {

namespace mpi {

/// The operands of one rank. Throws unsupported where the number of ranks differs, and where MPI
/// lacks the type or the size.
[[nodiscard]] inline std::vector<plan_operand> operands_of(const op::collective& o,
                                                           const plan_request& request) {
  const int ranks = rank_group::all().size();
  if (o.ranks != ranks) {
    throw unsupported(fmt::format("{} ranks are asked for, {} run", o.ranks, ranks));
  }
  static_cast<void>(datatype_of(o, request.type));
  // Implementations count the elements of all blocks, too.
  const std::int64_t count = checked_multiply(o.blocks(), o.block(request.type));
  if (!std::in_range<int>(count)) {
    throw unsupported(fmt::format("MPI does not count to {}", count));
  }
  return operands_of_rank(o, request);
}

/// The leader's side of a collective: the leader has the first row of each operand, the workers
/// have the others.
class leader_plan {
 public:
  /// Throws as operands_of does.
  leader_plan(const op::collective& o, const plan_request& request)
      : ranks_(rank_group::all()),
        collective_(o),
        type_(request.type),
        operands_(operands_of(o, request)) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  [[nodiscard]] std::string algorithm() const { return algorithm_of(backend::name, collective_); }

  /// `values` are the rows of all ranks. Throws not_enough_memory where the workers on this machine
  /// would not find enough for their arrays.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    const auto workers = static_cast<std::size_t>(ranks_.ranks_on_host() - 1);
    host_buffer::require(workers * 2 * std::max(operands_[0].bytes, operands_[1].bytes));
    send(command::kind::upload, operand);
    std::vector<std::byte> stored;
    for_each_chunk_of_workers(operand, values, [&](int rank, auto chunk, std::size_t bytes) {
      stored.resize(bytes);
      store_row(operands_[operand].logical, chunk, stored.data());
      MPI_Send(stored.data(), static_cast<int>(bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD);
    });
    store_row(operands_[operand].logical, values.first(row(operand)), to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    send(command::kind::download, operand);
    std::vector<std::byte> stored;
    for_each_chunk_of_workers(operand, values, [&](int rank, auto chunk, std::size_t bytes) {
      stored.resize(bytes);
      MPI_Recv(stored.data(), static_cast<int>(bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      load_row(operands_[operand].logical, stored.data(), chunk);
    });
    load_row(operands_[operand].logical, from, values.first(row(operand)));
  }

  struct binding {
    address from;
    address to;
    std::optional<collective_call> call = {};
    std::int64_t announced = 0;  ///< calls that the workers will make, too
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places[0], places[1]};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound = {places[0], places[1]};
  }

  /// Announces calls to the workers, and waits until all ranks are ready for them. In place, one
  /// warm-up call comes first: the copy into place fills the caches with more than a call does. A
  /// broadcast has a second one if this rank would else be the root of the last call: a root does
  /// not wait until the others have the array.
  void announce_calls(binding& bound, std::int64_t calls) const {
    std::int64_t warm_up = collective_.is_in_place() ? 1 : 0;
    const bool broadcasts = collective_.kind == op::collective_kind::broadcast;
    if (broadcasts && (warm_up + calls - 1) % ranks_.size() == 0) ++warm_up;
    announce(bound, warm_up, calls);
  }
  void run(binding& bound) const {
    if (bound.announced == 0) announce(bound, 0, 1);
    --bound.announced;
    bound.call->run();
  }

 private:
  /// Elements of a row of an operand.
  [[nodiscard]] std::size_t row(std::size_t operand) const {
    return static_cast<std::size_t>(operands_[operand].logical.extents[1]);
  }

  void announce(binding& bound, std::int64_t warm_up, std::int64_t calls) const {
    bound.announced = calls;
    ranks_.send({.what = command::kind::communicate,
                 .count = calls,
                 .collective = collective_,
                 .type = type_,
                 .warm_up = warm_up});
    bound.call.emplace(collective_, type_, bound.from, bound.to);
    bound.call->warm_up(warm_up);
  }

  void send(command::kind what, std::size_t operand) const {
    ranks_.send({.what = what,
                 .index = static_cast<std::int64_t>(operand),
                 .collective = collective_,
                 .type = type_});
  }

  /// Calls `work(rank, chunk, bytes)` for consecutive chunks of the rows of `values` that belong to
  /// workers; `bytes` is the size of the chunk in their memory.
  template <class Number, class Work>
  void for_each_chunk_of_workers(std::size_t operand, std::span<Number> values, Work&& work) const {
    const op::operand& of = operands_[operand].logical;
    const std::size_t element = traits(type_).bytes;
    for (int rank = 1; rank < of.extents[0]; ++rank) {
      const std::span own = values.subspan(static_cast<std::size_t>(rank) * row(operand));
      for_each_chunk(row_bytes(of), [&](std::size_t first, std::size_t bytes) {
        work(rank, own.subspan(first / element, bytes / element), bytes);
      });
    }
  }

  rank_group& ranks_;
  op::collective collective_;
  dtype type_;
  std::vector<plan_operand> operands_;
};

}  // namespace mpi

/// Collectives between ranks that a launcher started.
template <op::is_collective Op>
class plan<mpi::backend, Op> : public mpi::leader_plan {
 public:
  /// Throws as mpi::operands_of does.
  plan(const mpi::backend& /*device*/, const Op& o, const plan_request& request)
      : leader_plan(op::as_collective(o), request) {}
};

static_assert(implements<mpi::backend, op::allreduce>);
static_assert(implements<mpi::backend, op::collective>);

}  // namespace layerbench
