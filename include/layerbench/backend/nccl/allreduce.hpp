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
#include <layerbench/backend/typed_span.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench {

/// Its operands are the first rows of the op's, on the first GPU; the plan has the others', each
/// on its own.
template <>
class plan<nccl::backend, op::allreduce> {
 public:
  /// Throws unsupported where there are not so many GPUs, and for types that NCCL does not have.
  plan(nccl::backend& device, const op::allreduce& o, const plan_request& request)
      : device_(device), op_(o), count_(static_cast<std::size_t>(o.count(request.type))) {
    if (o.ranks != nccl::backend::ranks()) {
      throw unsupported(
          fmt::format("{} ranks are asked for, {} GPUs are there", o.ranks, device.all().size()));
    }
    type_ = type_of(request.type);
    for (op::operand& operand : o.operands(request.pass, request.type)) {
      const std::string rows = op::plain_order(operand.extents);
      operands_.push_back({std::move(operand), rows, bytes(request.type)});
    }
    for (std::size_t rank = 1; rank < device_.all().size(); ++rank) {
      device_.on(rank, [&] {
        others_.push_back({cuda::buffer(bytes(request.type)), cuda::buffer(bytes(request.type))});
      });
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  /// The library does not say which algorithm it chose.
  [[nodiscard]] std::string algorithm() const {
    return op_.in_place ? "nccl:allreduce:in_place" : "nccl:allreduce";
  }

  /// `values` are all ranks'.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    with_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(count_);
      for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
        for (std::size_t i = 0; i < count_; ++i) {
          stored[i] = static_cast<T>(values[rank * count_ + i]);
        }
        copy(place(rank, operand, to), stored.data(), count_ * sizeof(T));
      }
    });
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    with_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(count_);
      for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
        copy(stored.data(), place(rank, operand, from), count_ * sizeof(T));
        for (std::size_t i = 0; i < count_; ++i) {
          values[rank * count_ + i] = static_cast<float>(stored[i]);
        }
      }
    });
  }

  struct binding {
    address from;
    address to;
    std::int64_t expected = 0;  ///< calls before which nothing is copied
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places[0], places[1]};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound = {places[0], places[1]};
  }

  /// In place, has each rank's values where its sum will be.
  void expect(binding& bound, std::int64_t calls) const {
    bound.expected = calls;
    for (std::size_t rank = 0; op_.in_place && rank < device_.all().size(); ++rank) {
      copy(place(rank, 1, bound.to), place(rank, 0, bound.from), operands_[0].bytes);
    }
  }
  void run(binding& bound) const {
    if (bound.expected == 0) expect(bound, 1);
    --bound.expected;
    cuda::check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t rank = 0; rank < device_.all().size(); ++rank) {
      void* to = place(rank, 1, bound.to);
      const void* from = op_.in_place ? to : place(rank, 0, bound.from);
      const nccl::rank& its = device_.all()[rank];
      cuda::check(ncclAllReduce(from, to, count_, type_, ncclSum, its.library.get(), its.stream),
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

  [[nodiscard]] address place(std::size_t rank, std::size_t operand, address first) const {
    return rank == 0 ? first : others_[rank - 1].at(operand).data();
  }

  /// Behind all that was enqueued on any GPU.
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
  std::vector<std::array<cuda::buffer, 2>> others_;  ///< src and dst of each rank but the first
};

static_assert(implements<nccl::backend, op::allreduce>);

}  // namespace layerbench
