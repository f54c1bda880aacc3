// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/pad.hpp>

namespace layerbench::cudnn {

/// Base class of plans by a kernel of layerbench that copies between a tensor and one with zeros
/// around it: it reads zeros where a position lies outside of its source.
class padding_plan : public direct_plan {
 public:
  void run(const binding& at) const {
    kernel_.launch(stream(), cuda::grid_for(size_), at[0], at[1], size_, axes_);
  }

 protected:
  /// `removes`: the source is the padded tensor.
  padding_plan(backend& device, std::vector<op::operand> logical, const op::pad& o, bool removes,
               const plan_request& request)
      : direct_plan(device, std::move(logical), request, "nvrtc_pad"),
        size_(elements(this->logical(1).extents)),
        kernel_(device.kernels().find(request.type, "pad")) {
    if (o.dims.size() > axes_.counts.size()) throw unsupported("no padding of more than 4 axes");
    std::vector<std::size_t> order(o.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t axis) { return strides_of(1)[axis]; });
    std::size_t at = axes_.counts.size() - order.size();
    for (const std::size_t axis : order) {
      const std::int64_t before = o.before.sizes[axis];
      axes_.counts.at(at) = this->logical(1).extents[axis];
      axes_.offsets.at(at) = removes ? before : -before;
      axes_.limits.at(at) = this->logical(0).extents[axis];
      axes_.steps.at(at++) = strides_of(0)[axis];
    }
  }

 private:
  /// Axes in the order of the destination's memory, slowest first.
  struct axes {
    std::array<std::int64_t, 4> counts{1, 1, 1, 1};
    std::array<std::int64_t, 4> offsets{};  ///< of positions in the source
    std::array<std::int64_t, 4> limits{1, 1, 1, 1};
    std::array<std::int64_t, 4> steps{};
  };

  std::int64_t size_;
  cuda::kernel kernel_;
  axes axes_;
};

}  // namespace layerbench::cudnn

namespace layerbench {

template <>
class plan<cudnn::backend, op::pad> : public cudnn::padding_plan {
 public:
  plan(cudnn::backend& device, const op::pad& o, const plan_request& request)
      : padding_plan(device, o.operands(request.pass, request.type), o,
                     request.pass == op::pass::bwd, request) {}
};

static_assert(implements<cudnn::backend, op::pad>);

}  // namespace layerbench
