// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <layerbench/backend/cudnn/bias_gradient.hpp>
#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench {

/// Layerbench kernels. cudnnOpTensor takes 1.5 to 3.5 times as long as a copy on an H100
/// (results/gpu), though a sum touches only half as many bytes more. The gradient of src1 is that
/// of a bias: an image is a pixel of channels, since the batch is the slowest axis in every order.
template <>
class plan<cudnn::backend, op::add> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::add& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd ? "nvrtc_bias_gradient" : "nvrtc_add"),
        size_(elements(o.dims)),
        image_(elements(o.addends())) {
    if (request.pass == op::pass::bwd) {
      gradient_.emplace(device, dims{size_ / image_, image_, 1, 1}, request.type, true,
                        request.workspace_limit);
    } else {
      kernel_ = device.kernels().find(request.type, "add");
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    return gradient_ ? gradient_->workspace_bytes() : 0;
  }

  void run(const binding& bound) const {
    if (gradient_) return gradient_->run(stream(), bound[0], bound[1], bound.workspace);
    kernel_->launch(stream(), cuda::grid_for_vectors(size_, logical(0).type), bound[0], bound[1],
                    bound[2], size_, image_);
  }

 private:
  std::int64_t size_;
  std::int64_t image_;  ///< elements of src1
  std::optional<cuda::kernel> kernel_;
  std::optional<cudnn::bias_gradient> gradient_;
};

static_assert(implements<cudnn::backend, op::add>);

}  // namespace layerbench
