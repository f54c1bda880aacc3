// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/nccl/backend.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench {

/// All-reduce between the GPUs of this machine. The bound operands are those of rank 0, on the
/// first GPU; the plan owns the memory of the other ranks, on their GPUs.
template <>
class plan<nccl::backend, op::allreduce> {
 public:
  /// Throws unsupported unless there is one GPU per rank, and for types that NCCL lacks.
  plan(nccl::backend& device, const op::allreduce& o, const plan_request& request)
      : device_(device), op_(o), count_(static_cast<std::size_t>(o.count(request.type))) {
    if (o.ranks != nccl::backend::ranks()) {
      throw unsupported(
          fmt::format("{} ranks were requested on {} GPUs", o.ranks, device.all().size()));
    }
    type_ = type_of(request.type);
    for (op::operand& operand : o.operands(request.pass, request.type)) {
      const std::string order = op::plain_order(operand.extents);
      operands_.push_back({std::move(operand), order, bytes(request.type)});
    }
    for (std::size_t rank = 1; rank < device_.all().size(); ++rank) {
      device_.on(rank, [&] {
        other_ranks_.push_back(
            {cuda::buffer(bytes(request.type)), cuda::buffer(bytes(request.type))});
      });
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  /// NCCL does not report its choice of algorithm.
  [[nodiscard]] std::string algorithm() const {
    return op_.in_place ? "nccl:allreduce:in_place" : "nccl:allreduce";
  }

  /// `values`: those of all ranks, in the order of ranks.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    with_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(count_);
      for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
        for (std::size_t i = 0; i < count_; ++i) {
          stored[i] = static_cast<T>(values[rank * count_ + i]);
        }
        copy(address_of(rank, operand, to), stored.data(), count_ * sizeof(T));
      }
    });
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    with_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(count_);
      for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
        copy(stored.data(), address_of(rank, operand, from), count_ * sizeof(T));
        for (std::size_t i = 0; i < count_; ++i) {
          values[rank * count_ + i] = static_cast<float>(stored[i]);
        }
      }
    });
  }

  struct binding {
    address from;
    address to;
    std::int64_t announced_calls =
        0;  ///< calls left for which announce_calls() has copied the input
  };
  [[nodiscard]] static binding bind(std::span<const address> addresses, address /*workspace*/) {
    return {addresses[0], addresses[1]};
  }
  static void place(binding& bound, std::span<const address> addresses) {
    bound = {addresses[0], addresses[1]};
  }

  /// Copies each rank's values to its output if the op is in place.
  void announce_calls(binding& bound, std::int64_t calls) const {
    bound.announced_calls = calls;
    for (std::size_t rank = 0; op_.in_place && rank < device_.all().size(); ++rank) {
      copy(address_of(rank, 1, bound.to), address_of(rank, 0, bound.from), operands_[0].bytes);
    }
  }
  void run(binding& bound) const {
    if (bound.announced_calls == 0) announce_calls(bound, 1);
    --bound.announced_calls;
    cuda::check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
      void* to = address_of(rank, 1, bound.to);
      const void* from = op_.in_place ? to : address_of(rank, 0, bound.from);
      const nccl::rank& target = device_.all()[rank];
      cuda::check(
          ncclAllReduce(from, to, count_, type_, ncclSum, target.communicator.get(), target.stream),
          "ncclAllReduce");
    }
    cuda::check(ncclGroupEnd(), "ncclGroupEnd");
  }

 private:
  [[nodiscard]] static ncclDataType_t type_of(dtype type) {
    switch (type) {
      case dtype::f32: return ncclFloat32;
      case dtype::f16: return ncclFloat16;
      case dtype::bf16: return ncclBfloat16;
      default: throw unsupported(fmt::format("no all-reduce of {} through NCCL", name(type)));
    }
  }
  [[nodiscard]] std::size_t bytes(dtype type) const { return count_ * traits(type).bytes; }

  [[nodiscard]] address address_of(std::size_t rank, std::size_t operand, address first) const {
    return rank == 0 ? first : other_ranks_[rank - 1].at(operand).data();
  }

  /// Copies after all work enqueued on any GPU, and waits.
  void copy(void* to, const void* from, std::size_t bytes) const {
    device_.synchronize();
    device_.copy(to, from, bytes);
    device_.synchronize();
  }

  nccl::backend& device_;
  op::allreduce op_;
  std::size_t count_;
  ncclDataType_t type_{};
  std::vector<plan_operand> operands_;
  std::vector<std::array<cuda::buffer, 2>> other_ranks_;  ///< src and dst of ranks 1, 2...
};

static_assert(implements<nccl::backend, op::allreduce>);

}  // namespace layerbench
