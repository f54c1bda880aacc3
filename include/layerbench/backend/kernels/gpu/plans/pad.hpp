// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/pad.hpp>

namespace layerbench::gpu {

/// Base class of plans by a kernel of layerbench that copies between a tensor and one with zeros
/// around it: it reads zeros where a position lies outside of its source. Axes without zeros are
/// joined with the next slower one. It moves 16 bytes at once if extents and padding of the
/// joined fastest axis are multiples of 16 bytes.
class padding_plan : public call_plan {
 public:
  void run(const binding& at) const { kernel_.launch(grid_, at[0], at[1], size_, axes_); }

 protected:
  /// `removes`: the source is the padded tensor.
  padding_plan(const runtime& device, std::vector<op::operand> logical, const op::pad& o,
               bool removes, const plan_request& request)
      : call_plan("layerbench:pad", device, std::move(logical), request.layout),
        size_(elements(this->logical(1).extents)),
        kernel_(device.find(request.type, "pad")) {
    if (o.dims.size() > axes_.counts.size()) throw unsupported("no padding of more than 4 axes");
    std::vector<std::size_t> order(o.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t axis) { return strides_of(1)[axis]; });
    std::size_t at = axes_.counts.size();
    for (const std::size_t axis : order | std::views::reverse) {
      const std::int64_t count = this->logical(1).extents[axis];
      const std::int64_t limit = this->logical(0).extents[axis];
      const std::int64_t step = strides_of(0)[axis];
      if (count == 1 && limit == 1) continue;
      // Without zeros along the faster axes, this axis consists of their runs in both tensors.
      const bool joins = at < axes_.counts.size() && axes_.counts.at(at) == axes_.limits.at(at) &&
                         step == axes_.steps.at(at) * axes_.limits.at(at);
      if (!joins) axes_.steps.at(--at) = step;
      const std::int64_t run = axes_.counts.at(at);
      axes_.counts.at(at) = count * run;
      axes_.offsets.at(at) = (removes ? 1 : -1) * o.before.sizes[axis] * run;
      axes_.limits.at(at) = limit * run;
    }
    // Both tensors are dense, so all other steps are multiples of the fastest axis' extents.
    const std::int64_t lanes = lanes_of(request.type);
    const bool by_lanes = axes_.steps.back() == 1 && axes_.counts.back() % lanes == 0 &&
                          axes_.offsets.back() % lanes == 0 && axes_.limits.back() % lanes == 0;
    axes_.by_lanes = by_lanes ? 1 : 0;
    grid_ = by_lanes ? grid_for_vectors(size_, request.type) : grid_for(size_);
  }

 private:
  /// Axes in the order of the destination's memory, slowest first.
  struct axes {
    std::array<std::int64_t, 4> counts{1, 1, 1, 1};
    std::array<std::int64_t, 4> offsets{};  ///< of positions in the source
    std::array<std::int64_t, 4> limits{1, 1, 1, 1};
    std::array<std::int64_t, 4> steps{};
    int by_lanes = 0;  ///< whether 16 bytes can be copied at once
  };

  std::int64_t size_;
  kernel kernel_;
  axes axes_;
  grid grid_{};
};

template <>
class own_plan<op::pad> : public padding_plan {
 public:
  own_plan(const runtime& device, const op::pad& o, const plan_request& request)
      : padding_plan(device, o.operands(request.pass, request.type), o,
                     request.pass == op::pass::bwd, request) {}
};

}  // namespace layerbench::gpu
