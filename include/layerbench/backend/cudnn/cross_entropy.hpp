// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench {

/// cuDNN's softmax, and layerbench kernels for the loss, which is summed in two steps, and for its
/// gradient.
template <>
class plan<cudnn::backend, op::cross_entropy> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::cross_entropy& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd
                        ? "nvrtc_cross_entropy_gradient"
                        : "cudnnSoftmaxForward+nvrtc_cross_entropy_parts+nvrtc_cross_entropy_mean"),
        o_(o) {
    if (request.pass == op::pass::bwd) {
      gradient_ = device.kernels().find(request.type, "cross_entropy_gradient");
    } else {
      loss_.emplace(loss{cudnn::tensor_descriptor({o.n, o.c, 1, 1}, {o.c, 1, 1, 1}, request.type),
                         device.kernels().find(request.type, "cross_entropy_parts"),
                         device.kernels().find(request.type, "cross_entropy_mean")});
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return loss_ ? partial_sum_count * sizeof(float) : 0;
  }

  void run(const binding& bound) const {
    if (gradient_) {
      gradient_->launch(stream(), cuda::grid_for_vectors(o_.n * o_.c, logical(0).type), bound[0],
                        bound[1], bound[2], o_.n, o_.c);
      return;
    }
    const auto tensor = loss_->tensor.get();
    cuda::check(cudnnSoftmaxForward(library(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                    &cudnn::one, tensor, bound[0], &cudnn::zero, tensor, bound[2]),
                "cudnnSoftmaxForward");
    loss_->partial_sums.launch(stream(), {dim3(1), partial_sum_count}, bound[2], bound[1],
                               bound.workspace, o_.n, o_.c, op::cross_entropy::min_probability);
    loss_->mean.launch(stream(), {dim3(1), 1}, bound.workspace, bound[3], o_.n);
  }

 private:
  static constexpr unsigned partial_sum_count = 64;  ///< as in the kernel cross_entropy_mean

  struct loss {
    cudnn::tensor_descriptor tensor;
    cuda::kernel partial_sums;
    cuda::kernel mean;
  };

  op::cross_entropy o_;
  std::optional<loss> loss_;
  std::optional<cuda::kernel> gradient_;
};

static_assert(implements<cudnn::backend, op::cross_entropy>);

}  // namespace layerbench
