// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench {

/// Activations by layerbench kernels. cuDNN lacks half of the functions, and its relu takes 1.4 to
/// 1.9 times as long as a copy on an H100 (results/gpu).
template <>
class plan<cudnn::backend, op::activation> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::activation& o, const plan_request& request)
      : direct_plan(
            device, o.operands(request.pass, request.type), request,
            request.pass == op::pass::bwd ? "nvrtc_activation_gradient" : "nvrtc_activation"),
        backward_(request.pass == op::pass::bwd),
        kind_(static_cast<int>(o.kind)),
        size_(elements(o.dims)),
        kernel_(device.kernels().find(request.type,
                                      backward_ ? "activation_gradient" : "activation")) {}

  void run(const binding& bound) const {
    const cuda::grid grid = cuda::grid_for_vectors(size_, logical(0).type);
    if (backward_) {
      kernel_.launch(stream(), grid, bound[0], bound[1], bound[2], size_, kind_);
    } else {
      kernel_.launch(stream(), grid, bound[0], bound[1], size_, kind_);
    }
  }

 private:
  bool backward_;
  int kind_;  ///< as the kernels number them
  std::int64_t size_;
  cuda::kernel kernel_;
};

static_assert(implements<cudnn::backend, op::activation>);

}  // namespace layerbench
