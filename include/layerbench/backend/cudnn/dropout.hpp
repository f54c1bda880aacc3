// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/dropout.hpp>

namespace layerbench {

/// Dropout by layerbench kernels, because cuDNN's dropout does not produce the random bits of
/// op::dropout. A second kernel increments the seed after the first has read it.
template <>
class plan<cudnn::backend, op::dropout> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::dropout& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd ? "nvrtc_dropout_gradient"
                                                  : "nvrtc_dropout+nvrtc_dropout_seed"),
        o_(o),
        size_(elements(o.dims)),
        kernel_(device.kernels().find(
            request.type, request.pass == op::pass::bwd ? "dropout_gradient" : "dropout")) {
    if (request.pass != op::pass::bwd) {
      seed_kernel_ = device.kernels().find(request.type, "dropout_seed");
    }
    if (o.dims.size() != 4 || request.order == layout::nchw) return;
    nhwc_channels_ = o.dims[1];
    nhwc_pixels_ = o.dims[2] * o.dims[3];
  }

  void run(const binding& bound) const {
    const cuda::grid grid = cuda::grid_for_vectors(size_, logical(0).type);
    if (seed_kernel_) {
      kernel_.launch(stream(), grid, bound[0], bound[1], bound[2], bound[3], size_, nhwc_channels_,
                     nhwc_pixels_, o_.keep_threshold(), o_.factor());
      seed_kernel_->launch(stream(), {dim3(1), 1}, bound[1], bound[4]);
    } else {
      kernel_.launch(stream(), grid, bound[0], bound[1], bound[2], size_, o_.factor());
    }
  }

 private:
  op::dropout o_;
  std::int64_t size_;
  std::int64_t nhwc_channels_ = 1;  ///< of channels-last images; 1 for row-major tensors
  std::int64_t nhwc_pixels_ = 1;
  cuda::kernel kernel_;
  std::optional<cuda::kernel> seed_kernel_;
};

static_assert(implements<cudnn::backend, op::dropout>);

}  // namespace layerbench
