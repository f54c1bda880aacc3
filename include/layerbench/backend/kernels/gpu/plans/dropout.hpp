// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/dropout.hpp>

namespace layerbench::gpu {

/// Dropout by layerbench kernels, because cuDNN's dropout does not produce the random bits of
/// op::dropout. A second kernel increments the seed after the first has read it.
template <>
class own_plan<op::dropout> : public call_plan {
 public:
  own_plan(const runtime& device, const op::dropout& o, const plan_request& request)
      : call_plan(request.pass == op::pass::bwd ? "layerbench:dropout_gradient"
                                                : "layerbench:dropout+layerbench:dropout_seed",
                  device, o.operands(request.pass, request.type), request.layout),
        o_(o),
        size_(elements(o.dims)),
        kernel_(device.find(request.type,
                            request.pass == op::pass::bwd ? "dropout_gradient" : "dropout")) {
    if (request.pass != op::pass::bwd) {
      seed_kernel_ = device.find(request.type, "dropout_seed");
    }
    if (o.dims.size() != 4 || request.layout == layout::nchw) return;
    nhwc_channels_ = o.dims[1];
    nhwc_pixels_ = o.dims[2] * o.dims[3];
  }

  void run(const binding& bound) const {
    const grid grid = grid_for_vectors(size_, logical(0).type);
    if (seed_kernel_) {
      kernel_.launch(grid, bound[0], bound[1], bound[2], bound[3], size_, nhwc_channels_,
                     nhwc_pixels_, o_.keep_threshold(), o_.factor());
      seed_kernel_->launch(gpu::grid{}, bound[1], bound[4]);
    } else {
      kernel_.launch(grid, bound[0], bound[1], bound[2], size_, o_.factor());
    }
  }

 private:
  op::dropout o_;
  std::int64_t size_;
  std::int64_t nhwc_channels_ = 1;  ///< of channels-last images; 1 for row-major tensors
  std::int64_t nhwc_pixels_ = 1;
  kernel kernel_;
  std::optional<kernel> seed_kernel_;
};

}  // namespace layerbench::gpu
