// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/collective_buffers.hpp>
#include <layerbench/backend/mpi/backend.hpp>
#include <layerbench/backend/mpi/worker_rows.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>

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
class leader_plan : public run::any_plan {
 public:
  /// Throws as operands_of does.
  leader_plan(const op::collective& o, const plan_request& request)
      : collective_(o),
        type_(request.type),
        operands_(operands_of(o, request)),
        workers_(library::mpi, o, request.type, operands_) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::string algorithm() const override {
    return algorithm_of(backend::name, collective_);
  }

  /// `values` are the rows of all ranks. Throws not_enough_memory where the workers on this machine
  /// would not find enough for their arrays.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    const auto workers = static_cast<std::size_t>(rank_group::all().ranks_on_host() - 1);
    host_buffer::require(workers * 2 * std::max(operands_[0].bytes, operands_[1].bytes));
    workers_.upload(operand, values);
    store_row(operands_[operand].logical, values.first(row(operand)), to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    workers_.download(operand, values);
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

  /// Announces calls to the workers, and waits until all ranks are ready for them.
  void announce_calls(binding& bound, std::int64_t calls) const {
    announce(bound, warm_up_calls(collective_, calls), calls);
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
    workers_.announce(warm_up, calls);
    bound.call.emplace(collective_, type_, bound.from, bound.to);
    bound.call->warm_up(warm_up);
  }

  op::collective collective_;
  dtype type_;
  std::vector<plan_operand> operands_;
  worker_rows workers_;
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
