// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/mpi/backend.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench {

namespace mpi {

/// The operands of one rank: one row of each operand of the op, which has a row per rank. Throws
/// unsupported where the number of ranks differs, and where MPI lacks the type or the size.
[[nodiscard]] inline std::vector<plan_operand> operands_of(const op::allreduce& o,
                                                           const plan_request& request) {
  const int ranks = rank_group::all().size();
  if (o.ranks != ranks) {
    throw unsupported(fmt::format("{} ranks are asked for, {} run", o.ranks, ranks));
  }
  static_cast<void>(datatype_of(request.type));
  const std::int64_t count = o.count(request.type);
  if (!std::in_range<int>(count)) {
    throw unsupported(fmt::format("MPI does not count to {}", count));
  }
  std::vector<plan_operand> result;
  for (op::operand& operand : o.operands(request.pass, request.type)) {
    const std::string rows = op::plain_order(operand.extents);
    result.push_back(
        {std::move(operand), rows, static_cast<std::size_t>(count) * traits(request.type).bytes});
  }
  return result;
}

/// The arguments of the op's calls.
[[nodiscard]] inline allreduce_arguments arguments_of(const op::allreduce& o, dtype type) {
  return {.count = o.count(type), .type = type, .in_place = o.in_place ? 1 : 0};
}

/// The name of the call, since MPI does not tell which algorithm it chose.
[[nodiscard]] inline std::string algorithm_of(const allreduce_arguments& what) {
  return what.in_place != 0 ? "mpi:allreduce:in_place" : "mpi:allreduce";
}

}  // namespace mpi

/// The leader's side of an all-reduce: the leader has the first row of each operand, the workers
/// have the others.
template <>
class plan<mpi::backend, op::allreduce> {
 public:
  /// Throws as operands_of does.
  plan(const mpi::backend& /*device*/, const op::allreduce& o, const plan_request& request)
      : ranks_(mpi::rank_group::all()),
        arrays_(mpi::arguments_of(o, request.type)),
        operands_(mpi::operands_of(o, request)) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  [[nodiscard]] std::string algorithm() const { return mpi::algorithm_of(arrays_); }

  /// `values` are the rows of all ranks. Throws not_enough_memory where the workers on this machine
  /// would not find enough for their arrays.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    const auto workers = static_cast<std::size_t>(ranks_.ranks_on_host() - 1);
    host_buffer::require(workers * operands_.size() * operands_[operand].bytes);
    send(mpi::command::kind::upload, operand);
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      for_each_chunk_of(rank, values, [&](std::span<const float> chunk) {
        MPI_Send(chunk.data(), static_cast<int>(chunk.size()), MPI_FLOAT, rank, 0, MPI_COMM_WORLD);
      });
    }
    mpi::typed_span(arrays_.type, to).store(0, values.first(count()));
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    send(mpi::command::kind::download, operand);
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      for_each_chunk_of(rank, values, [&](std::span<float> chunk) {
        MPI_Recv(chunk.data(), static_cast<int>(chunk.size()), MPI_FLOAT, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      });
    }
    mpi::typed_span(arrays_.type, from).load(0, values.first(count()));
  }

  struct binding {
    address from;
    address to;
    std::optional<mpi::reduction> reduction = {};
    std::int64_t announced = 0;  ///< calls that the workers will make, too
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places[0], places[1]};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound = {places[0], places[1]};
  }

  /// Announces calls to the workers, and waits until all ranks are ready for them. In place, one
  /// warm-up call comes first: the copy into place fills the caches with more than a call does.
  void announce_calls(binding& bound, std::int64_t calls) const {
    announce(bound, arrays_.in_place, calls);
  }
  void run(binding& bound) const {
    if (bound.announced == 0) announce(bound, 0, 1);
    --bound.announced;
    bound.reduction->run();
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(arrays_.count); }

  void announce(binding& bound, std::int64_t warm_up, std::int64_t calls) const {
    bound.announced = calls;
    ranks_.send({.what = mpi::command::kind::allreduce,
                 .count = calls,
                 .arrays = arrays_,
                 .warm_up = warm_up});
    bound.reduction.emplace(arrays_, bound.from, bound.to);
    bound.reduction->warm_up(warm_up);
  }

  void send(mpi::command::kind what, std::size_t operand) const {
    ranks_.send({.what = what, .index = static_cast<std::int64_t>(operand), .arrays = arrays_});
  }

  /// Calls `work` for consecutive chunks of the row of `values` that belongs to `rank`.
  template <class Number, class Work>
  void for_each_chunk_of(int rank, std::span<Number> values, Work&& work) const {
    const std::span row = values.subspan(static_cast<std::size_t>(rank) * count(), count());
    mpi::for_each_chunk(
        count(), [&](std::size_t first, std::size_t size) { work(row.subspan(first, size)); });
  }

  mpi::rank_group& ranks_;
  mpi::allreduce_arguments arrays_;
  std::vector<plan_operand> operands_;
};

static_assert(implements<mpi::backend, op::allreduce>);

}  // namespace layerbench
