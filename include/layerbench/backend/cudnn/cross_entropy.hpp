// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/backend/kernels/gpu/cross_entropy.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench {

/// cuDNN's softmax, and layerbench kernels for the loss and for its gradient.
template <>
class plan<cudnn::backend, op::cross_entropy> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::cross_entropy& o, const plan_request& request)
      : direct_plan(
            device, o.operands(request.pass, request.type), request,
            request.pass == op::pass::bwd
                ? std::string(gpu::cross_entropy_gradient::algorithm)
                : std::string("cudnnSoftmaxForward+") + gpu::cross_entropy_loss::algorithm) {
    if (request.pass == op::pass::bwd) {
      gradient_.emplace(device, o, request.type);
    } else {
      probabilities_.emplace(dims{o.n, o.c, 1, 1}, dims{o.c, 1, 1, 1}, request.type);
      loss_.emplace(device, o, request.type);
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return loss_ ? loss_->workspace_bytes() : 0;
  }

  void run(const binding& bound) const {
    if (gradient_) return gradient_->run(bound[0], bound[1], bound[2]);
    const auto tensor = probabilities_->get();
    cuda::check(cudnnSoftmaxForward(library(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                    &cudnn::one, tensor, bound[0], &cudnn::zero, tensor, bound[2]),
                "cudnnSoftmaxForward");
    loss_->run(bound[2], bound[1], bound[3], bound.workspace);
  }

 private:
  std::optional<cudnn::tensor_descriptor> probabilities_;
  std::optional<gpu::cross_entropy_loss> loss_;
  std::optional<gpu::cross_entropy_gradient> gradient_;
};

static_assert(implements<cudnn::backend, op::cross_entropy>);

}  // namespace layerbench
