// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/multiply.hpp>

namespace layerbench::gpu {

/// Kernels of layerbench: a product; for gradients also a sum of products in two launches, of
/// parts and of their sums, where src1 is broadcast, else a second product.
template <>
class own_plan<op::multiply> : public call_plan {
 public:
  own_plan(const runtime& device, const op::multiply& o, const plan_request& request)
      : call_plan(request.pass != op::pass::bwd ? "layerbench:multiply"
                  : o.factors() == o.dims       ? "layerbench:multiply+layerbench:multiply"
                                          : "layerbench:multiply+layerbench:multiply_gradient",
                  device, o.operands(request.pass, request.type), request.layout),
        size_(elements(o.dims)),
        sums_(elements(o.factors())),
        backward_(request.pass == op::pass::bwd),
        product_(device.find(request.type, "multiply")) {
    if (o.dims.size() > axes_.counts.size()) throw unsupported("no products of more than 4 axes");
    std::vector<std::size_t> order(o.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t axis) { return strides_of(0)[axis]; });
    std::size_t at = axes_.counts.size() - order.size();
    for (const std::size_t axis : order) {
      axes_.counts.at(at) = o.dims[axis];
      axes_.steps.at(at) = strides_of(0)[axis];
      axes_.steps1.at(at++) = o.is_broadcast(axis) ? 0 : strides_of(1)[axis];
      if (o.dims[axis] > 1) sums_neighbours_ = o.is_broadcast(axis) ? 1 : 0;
    }
    if (!backward_ || sums_ == size_) return;
    parts_ = static_cast<int>(
        std::clamp<std::int64_t>(most_sums / sums_, 1, std::min(size_ / sums_, most_parts)));
    if (workspace_bytes() > request.workspace_limit) {
      throw unsupported("no room for the sums of a product's gradient");
    }
    gradient_ = device.find(request.type, "multiply_gradient_parts");
    sum_ = device.find(request.type, "bias_gradient");
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(parts_) * static_cast<std::size_t>(sums_) * sizeof(float);
  }

  void run(const binding& at) const {
    if (!backward_) return multiply(at[0], at[1], at[2]);
    multiply(at[2], at[1], at[3]);
    if (!gradient_) return multiply(at[2], at[0], at[4]);
    gradient_->launch(grid_for(sums_ * parts_), at[0], at[2], at.workspace, sums_, size_ / sums_,
                      parts_, sums_neighbours_, axes_);
    sum_->launch(grid_for(sums_), at.workspace, at[4], sums_, std::int64_t{parts_});
  }

 private:
  static constexpr std::int64_t most_sums = 1 << 18;  ///< threads that keep every GPU busy
  static constexpr std::int64_t most_parts = 1024;

  void multiply(address src, address src1, address dst) const {
    product_.launch(grid_for_vectors(size_, logical(0).type), src, src1, dst, size_, axes_);
  }

  /// Axes in the order of memory, slowest first. Steps in src1 are 0 where it is broadcast.
  struct axes {
    std::array<std::int64_t, 4> counts{1, 1, 1, 1};
    std::array<std::int64_t, 4> steps{};
    std::array<std::int64_t, 4> steps1{};
  };

  std::int64_t size_;
  std::int64_t sums_;  ///< elements of src1
  bool backward_;
  kernel product_;
  std::optional<kernel> gradient_;
  std::optional<kernel> sum_;
  axes axes_;
  int parts_ = 0;            ///< of each sum
  int sums_neighbours_ = 0;  ///< whether neighbours in memory have the same factor
};

}  // namespace layerbench::gpu
