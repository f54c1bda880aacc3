// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench {

/// Reorder by a layerbench kernel, one thread per element in the order of the destination. It
/// copies every type without conversion.
template <>
class plan<cudnn::backend, op::reorder> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::reorder& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), {o.from, o.to},
                    "nvrtc_reorder"),
        size_(elements(o.dims)),
        kernel_(device.kernels().find(request.type, "reorder")) {
    if (o.dims.size() > axes_.extents.size()) throw unsupported("reorders have at most 4 axes");
    std::size_t i = axes_.extents.size() - o.dims.size();
    for (const char letter : o.to) {
      const auto axis = static_cast<std::size_t>(letter - 'a');
      axes_.extents.at(i) = o.dims[axis];
      axes_.strides.at(i++) = strides_of(0)[axis];
    }
  }

  void run(const binding& bound) const {
    kernel_.launch(stream(), cuda::grid_for(size_), bound[0], bound[1], size_, axes_);
  }

 private:
  /// axes_of<4> of the kernel: extents in the order of the destination, slowest first, and the
  /// strides of the source along them, in elements.
  struct axes {
    std::array<std::int64_t, 4> extents{1, 1, 1, 1};
    std::array<std::int64_t, 4> strides{};
  };

  std::int64_t size_;
  cuda::kernel kernel_;
  axes axes_;
};

static_assert(implements<cudnn::backend, op::reorder>);

}  // namespace layerbench
