// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/transpose.hpp>

namespace layerbench {

/// A layerbench kernel, one thread per element in the order of the destination.
template <>
class plan<cudnn::backend, op::transpose> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::transpose& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request, "nvrtc_transpose"),
        size_(elements(o.dims)),
        kernel_(device.kernels().find(request.type, "transpose")) {
    const op::transpose moved = request.pass == op::pass::bwd ? o.inverse() : o;
    const std::vector<op::transpose::loop> loops = moved.loops(strides_of(0), strides_of(1));
    if (loops.size() > axes_.extents.size()) throw unsupported("transposes have at most 6 loops");
    std::size_t i = axes_.extents.size() - loops.size();
    for (const auto& loop : loops) {
      axes_.extents.at(i) = loop.extent;
      axes_.strides.at(i++) = loop.src_step;
    }
  }

  void run(const binding& bound) const {
    kernel_.launch(stream(), cuda::grid_for(size_), bound[0], bound[1], size_, axes_);
  }

 private:
  /// axes_of<6> of the kernel.
  struct axes {
    std::array<std::int64_t, 6> extents{1, 1, 1, 1, 1, 1};
    std::array<std::int64_t, 6> strides{};
  };

  std::int64_t size_;
  cuda::kernel kernel_;
  axes axes_;
};

static_assert(implements<cudnn::backend, op::transpose>);

}  // namespace layerbench
