// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench {

/// The library's softmax, and kernels of the suite's own for the loss, which adds up in two steps,
/// and its gradient.
template <>
class plan<cudnn::backend, op::cross_entropy> : public cudnn::legacy_plan {
 public:
  plan(cudnn::backend& device, const op::cross_entropy& o, const plan_request& request)
      : legacy_plan(device, o.operands(request.pass, request.type), request,
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

  [[nodiscard]] std::size_t workspace_bytes() const { return loss_ ? parts * sizeof(float) : 0; }

  struct binding {
    std::vector<address> places;
    address workspace;
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address workspace) {
    return {{places.begin(), places.end()}, workspace};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.places.assign(places.begin(), places.end());
  }

  void run(const binding& bound) const {
    const auto& at = bound.places;
    if (gradient_) {
      gradient_->launch(stream(), cuda::grid_for(o_.c, o_.n), at[0], at[1], at[2], o_.n, o_.c);
      return;
    }
    const auto tensor = loss_->of.get();
    cuda::check(cudnnSoftmaxForward(library(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                    &cudnn::one, tensor, at[0], &cudnn::zero, tensor, at[2]),
                "cudnnSoftmaxForward");
    loss_->in_parts.launch(stream(), {dim3(1), parts}, at[2], at[1], bound.workspace, o_.n, o_.c,
                           op::cross_entropy::least_probability);
    loss_->mean.launch(stream(), {dim3(1), 1}, bound.workspace, at[3], o_.n);
  }

 private:
  static constexpr unsigned parts = 64;  ///< of the sum, as the kernels have it

  struct loss {
    cudnn::tensor_descriptor of;
    cuda::kernel in_parts;
    cuda::kernel mean;
  };

  op::cross_entropy o_;
  std::optional<loss> loss_;
  std::optional<cuda::kernel> gradient_;
};

static_assert(implements<cudnn::backend, op::cross_entropy>);

}  // namespace layerbench
