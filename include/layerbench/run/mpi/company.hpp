// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/mpi/team.hpp>
#include <layerbench/backend/reference/allreduce.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/run/company.hpp>

namespace layerbench::run {

namespace detail {

/// An all-reduce in which every rank calls it. Of operands that hold all ranks' arrays each has its
/// own.
class shared_reduction final : public any_plan {
 public:
  shared_reduction(const op::allreduce& o, const plan_request& request)
      : op_(o), type_(request.type), count_(static_cast<std::size_t>(o.count(request.type))) {
    const mpi::team& all = mpi::team::all();
    if (o.ranks != all.size() || !o.in_place) {
      throw unsupported(
          fmt::format("{} ranks in place are asked for, {} run", o.ranks, all.size()));
    }
    static_cast<void>(mpi::datatype_of(type_));
    if (!std::in_range<int>(count_)) {
      throw unsupported(fmt::format("MPI does not count to {}", count_));
    }
    for (op::operand& each : o.operands(request.pass, type_)) {
      const std::string rows = op::plain_order(each.extents);
      operands_.push_back({std::move(each), rows, count_ * traits(type_).bytes});
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::size_t workspace_bytes() const override { return 0; }
  [[nodiscard]] std::string algorithm() const override { return "mpi:allreduce:in_place"; }
  [[nodiscard]] std::vector<std::string> alternatives() override { return {}; }
  void upload(std::size_t /*operand*/, std::span<const float> values, address to) const override {
    const auto own = static_cast<std::size_t>(mpi::team::all().rank());
    mpi::numbers(type_, to).store(0, values.subspan(own * count_, count_));
  }
  /// Each rank sees its own result in the place of all.
  void download(std::size_t /*operand*/, address from, std::span<float> values) const override {
    for (std::size_t first = 0; first < values.size(); first += count_) {
      mpi::numbers(type_, from).load(0, values.subspan(first, count_));
    }
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bind(std::span<const address> places,
                                                 address /*workspace*/) const override {
    return std::make_unique<bound>(*this, places);
  }
  [[nodiscard]] reference::sum expected(reference::tensors inputs, std::size_t output,
                                        std::int64_t index) const override {
    return reference::formula<op::allreduce>::at(op_, op::pass::fwd, inputs, output, index);
  }

 private:
  class bound final : public bound_plan {
   public:
    bound(const shared_reduction& of, std::span<const address> places)
        : of_(of), from_(places[0]), to_(places[1]) {}
    void place(std::span<const address> places) override {
      from_ = places[0];
      to_ = places[1];
    }
    void expect(std::int64_t /*calls*/) override {}
    void run() override {
      // In models both are the same memory.
      if (from_ != to_) std::memcpy(to_, from_, of_.operands_.front().bytes);
      MPI_Allreduce(MPI_IN_PLACE, to_, static_cast<int>(of_.count_), mpi::datatype_of(of_.type_),
                    MPI_SUM, MPI_COMM_WORLD);
    }

   private:
    const shared_reduction& of_;
    address from_;
    address to_;
  };

  op::allreduce op_;
  dtype type_;
  std::size_t count_;
  std::vector<plan_operand> operands_;
};

}  // namespace detail

/// The processes that mpirun started.
class mpi_company final : public company {
 public:
  [[nodiscard]] int size() const override { return mpi::team::all().size(); }
  [[nodiscard]] int neighbours() const override { return mpi::team::all().neighbours(); }
  [[nodiscard]] bool leads() const override { return mpi::team::all().leads(); }
  void tell(const deed& next) override {
    mpi::order order;
    order.task = next.what == deed::kind::end ? mpi::task::end : mpi::task::join;
    order.operand = next.index;
    order.count = next.argument;
    order.calls = static_cast<std::int64_t>(next.what);
    order.seconds = next.seconds;
    mpi::team::all().send(order);
  }
  [[nodiscard]] deed hear() override {
    const mpi::order order = mpi::team::all().receive();
    if (order.task == mpi::task::end) return {};
    return {static_cast<deed::kind>(order.calls), order.operand, order.count, order.seconds};
  }
  void meet() override { MPI_Barrier(MPI_COMM_WORLD); }
  [[noreturn]] void abandon(const std::string& why) override {
    fmt::print(stderr, "layerbench: rank {}: {}\n", mpi::team::all().rank(), why);
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(exit_code::failure));
    std::abort();
  }
  [[nodiscard]] std::unique_ptr<any_plan> plan(const op::any& op,
                                               const plan_request& request) override {
    const auto* sizes = op.get<op::allreduce>();
    if (sizes == nullptr) throw unsupported(fmt::format("MPI has no {}", op.name()));
    return std::make_unique<detail::shared_reduction>(*sizes, request);
  }
};

}  // namespace layerbench::run
