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

/// A rank's operands: of the op's, which have a row for each rank, one row. Throws unsupported
/// where there are not so many ranks, and what MPI does not have.
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

/// What a rank does in calls of the op.
[[nodiscard]] inline order order_of(const op::allreduce& o, dtype type) {
  return {.count = o.count(type), .type = type, .in_place = o.in_place ? 1 : 0};
}

/// The library does not say which algorithm it chose.
[[nodiscard]] inline std::string algorithm_of(const order& what) {
  return what.in_place != 0 ? "mpi:allreduce:in_place" : "mpi:allreduce";
}

}  // namespace mpi

/// The leader's side: its operands are the first rows of the op's, whose others the other ranks
/// have.
template <>
class plan<mpi::backend, op::allreduce> {
 public:
  /// Throws as operands_of does.
  plan(const mpi::backend& /*here*/, const op::allreduce& o, const plan_request& request)
      : all_(mpi::rank_group::all()),
        now_(mpi::order_of(o, request.type)),
        operands_(mpi::operands_of(o, request)) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  [[nodiscard]] std::string algorithm() const { return mpi::algorithm_of(now_); }

  /// `values` are all ranks'. Throws not_enough_memory where the others on this machine could not
  /// have their arrays.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    const auto others = static_cast<std::size_t>(all_.ranks_on_host() - 1);
    host_buffer::require(others * operands_.size() * operands_[operand].bytes);
    send(mpi::task::take, operand);
    for (int rank = 1; rank < all_.size(); ++rank) {
      in_pieces_of(rank, values, [&](std::span<const float> piece) {
        MPI_Send(piece.data(), static_cast<int>(piece.size()), MPI_FLOAT, rank, 0, MPI_COMM_WORLD);
      });
    }
    mpi::typed_span(now_.type, to).store(0, values.first(count()));
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    send(mpi::task::give, operand);
    for (int rank = 1; rank < all_.size(); ++rank) {
      in_pieces_of(rank, values, [&](std::span<float> piece) {
        MPI_Recv(piece.data(), static_cast<int>(piece.size()), MPI_FLOAT, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      });
    }
    mpi::typed_span(now_.type, from).load(0, values.first(count()));
  }

  struct binding {
    address from;
    address to;
    std::optional<mpi::reduction> own = {};
    std::int64_t expected = 0;  ///< calls that the others know of
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places[0], places[1]};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound = {places[0], places[1]};
  }

  /// Tells the others of so many calls, and waits until they are ready for them.
  void expect(binding& bound, std::int64_t calls) const { begin(bound, now_.in_place, calls); }
  void run(binding& bound) const {
    if (bound.expected == 0) begin(bound, 0, 1);
    --bound.expected;
    bound.own->run();
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(now_.count); }

  void begin(binding& bound, std::int64_t warm_up, std::int64_t calls) const {
    mpi::order next = now_;
    next.task = mpi::task::reduce;
    next.warm_up = warm_up;
    next.calls = bound.expected = calls;
    all_.send(next);
    bound.own.emplace(next, bound.from, bound.to);
    bound.own->meet_after(warm_up);
  }

  void send(mpi::task what, std::size_t operand) const {
    mpi::order next = now_;
    next.task = what;
    next.operand = static_cast<std::int64_t>(operand);
    all_.send(next);
  }

  template <class Number, class Work>
  void in_pieces_of(int rank, std::span<Number> values, Work&& work) const {
    const std::span row = values.subspan(static_cast<std::size_t>(rank) * count(), count());
    mpi::in_pieces(count(),
                   [&](std::size_t first, std::size_t some) { work(row.subspan(first, some)); });
  }

  mpi::rank_group& all_;
  mpi::order now_;
  std::vector<plan_operand> operands_;
};

static_assert(implements<mpi::backend, op::allreduce>);

}  // namespace layerbench
