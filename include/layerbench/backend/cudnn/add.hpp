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
/// of dst if nothing is broadcast. Else it is computed as that of a bias, where each image counts
/// as one pixel whose elements are the channels: the batch is the slowest axis in every order.
template <>
class plan<cudnn::backend, op::add> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::add& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::fwd ? "nvrtc_add"
                    : o.broadcast                 ? "nvrtc_bias_gradient"
                                                  : "nvrtc_copy"),
        size_(elements(o.dims)),
        image_(elements(o.addends())) {
    if (request.pass == op::pass::bwd && !o.broadcast) {
      copies_ = true;
      kernel_ = device.kernels().find(request.type, "copy");
    } else if (request.pass == op::pass::bwd) {
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
    if (copies_) {
      const auto bytes = static_cast<std::int64_t>(operands()[0].bytes);
      return kernel_->launch(stream(), cuda::grid_for_vectors(size_, logical(0).type), bound[0],
                             bound[1], bytes);
    }
    kernel_->launch(stream(), cuda::grid_for_vectors(size_, logical(0).type), bound[0], bound[1],
                    bound[2], size_, image_);
  }

 private:
  std::int64_t size_;
  std::int64_t image_;  ///< elements of src1
  bool copies_ = false;
  std::optional<cuda::kernel> kernel_;
  std::optional<cudnn::bias_gradient> gradient_;
};

static_assert(implements<cudnn::backend, op::add>);

}  // namespace layerbench
