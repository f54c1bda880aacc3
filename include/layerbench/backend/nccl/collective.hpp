// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/collective_buffers.hpp>
#include <layerbench/backend/nccl/backend.hpp>
#include <layerbench/backend/nccl/calls.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>

namespace layerbench {

namespace nccl {

/// A collective of the GPUs of this process, of which the first is rank 0. The bound operands are
/// those of rank 0; the backend has the arrays of the other ranks of this process, on their GPUs.
class group_plan : public run::any_plan {
 public:
  /// Throws unsupported unless there is one GPU per rank, and for types that NCCL lacks.
  group_plan(const backend& device, const op::collective& o, const plan_request& request)
      : device_(device), collective_(o), type_(request.type), recorded_(request.recorded) {
    if (o.ranks != device.size()) {
      throw unsupported(fmt::format("{} ranks were requested on {} GPUs", o.ranks, device.size()));
    }
    static_cast<void>(nccl::type_of(o, request.type));
    operands_ = operands_of_rank(o, request);
    reserve();
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::string algorithm() const override {
    return algorithm_of(backend::name, collective_) +
           (backend::registers_buffers() ? ":registered" : "");
  }

  /// `values`: those of all ranks, in the order of ranks. Fills the results of the other ranks with
  /// NaN, as far as the type has one: verification fails unless the collective writes them.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    reserve();
    const std::vector<std::byte> not_a_number(operands_[1].bytes, std::byte{0xFF});
    for (std::size_t number = 1; number < device_.local().size(); ++number) {
      copy(device_.array(number, 1), not_a_number.data(), not_a_number.size());
    }
    std::vector<std::byte> stored(row_bytes(operands_[operand].logical));
    for (std::size_t rank = 0; rank < rows(operand); ++rank) {
      store_row(operands_[operand].logical, row_of(values, operand, rank), stored.data());
      copy(address_of(rank, operand, to), stored.data(), stored.size());
    }
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    std::vector<std::byte> stored(row_bytes(operands_[operand].logical));
    for (std::size_t number = 0; number < rows(operand); ++number) {
      const std::int64_t rank = device_.first() + static_cast<std::int64_t>(number);
      const std::size_t begin = operand == 0 ? 0 : result_offset(collective_, type_, rank);
      copy(stored.data(), static_cast<std::byte*>(address_of(number, operand, from)) + begin,
           stored.size());
      load_row(operands_[operand].logical, stored.data(), row_of(values, operand, number));
    }
  }

  struct binding {
    collective_calls calls;
    arrays first_rank;
    std::int64_t announced_calls = 0;  ///< calls left for which prepare() has copied the input
  };
  [[nodiscard]] binding bind(std::span<const address> places, address /*workspace*/) const {
    reserve();
    const arrays first_rank{places[0], places[1]};
    return {collective_calls(device_, collective_, type_, recorded_, arrays_of_ranks(first_rank)),
            first_rank};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.first_rank = {places[0], places[1]};
    bound.announced_calls = 0;
  }

  void announce_calls(binding& bound, std::int64_t calls) const {
    prepare(bound, warm_up_calls(collective_, calls), calls);
  }
  void run(binding& bound) const {
    if (bound.announced_calls == 0) prepare(bound, 0, 1);
    --bound.announced_calls;
    bound.calls.run();
  }

 protected:
  /// A later plan may have moved the arrays of the other ranks.
  void prepare(binding& bound, std::int64_t warm_up, std::int64_t calls) const {
    reserve();
    bound.announced_calls = calls;
    bound.calls.place(arrays_of_ranks(bound.first_rank));
    bound.calls.prepare(warm_up, calls);
  }
  [[nodiscard]] const op::collective& collective() const { return collective_; }
  [[nodiscard]] bool is_recorded() const { return recorded_; }

 private:
  void reserve() const { device_.reserve({operands_[0].bytes, operands_[1].bytes}); }
  /// Ranks of this process that have a row of the operand, and the row of one of them.
  [[nodiscard]] std::size_t rows(std::size_t operand) const {
    return std::min(static_cast<std::size_t>(operands_[operand].logical.extents[0]),
                    device_.local().size());
  }
  template <class Number>
  [[nodiscard]] std::span<Number> row_of(std::span<Number> values, std::size_t operand,
                                         std::size_t rank) const {
    const auto count = static_cast<std::size_t>(operands_[operand].logical.extents[1]);
    return values.subspan(rank * count, count);
  }

  [[nodiscard]] address address_of(std::size_t rank, std::size_t operand, address first) const {
    return rank == 0 ? first : device_.array(rank, operand);
  }
  [[nodiscard]] std::vector<arrays> arrays_of_ranks(const arrays& first) const {
    std::vector<arrays> all;
    for (std::size_t rank = 0; rank < device_.local().size(); ++rank) {
      all.push_back({address_of(rank, 0, first.from), address_of(rank, 1, first.to)});
    }
    return all;
  }

  /// Copies after all work enqueued on any GPU, and waits.
  void copy(void* to, const void* from, std::size_t bytes) const {
    device_.synchronize();
    device_.copy(to, from, bytes);
    device_.synchronize();
  }

  const backend& device_;
  op::collective collective_;
  dtype type_;
  bool recorded_;
  std::vector<plan_operand> operands_;
};

}  // namespace nccl

/// Collectives between the GPUs of this machine.
template <op::is_collective Op>
class plan<nccl::backend, Op> : public nccl::group_plan {
 public:
  /// Throws as nccl::group_plan does.
  plan(const nccl::backend& device, const Op& o, const plan_request& request)
      : group_plan(device, op::as_collective(o), request) {}
};

static_assert(implements<nccl::backend, op::allreduce>);
static_assert(implements<nccl::backend, op::collective>);

}  // namespace layerbench
