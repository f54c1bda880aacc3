// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench::gpu {

/// Activations by layerbench kernels. cuDNN lacks half of the functions, and its relu takes 1.4 to
/// 1.9 times as long as a copy on an H100 (results/gpu).
template <>
class own_plan<op::activation> : public call_plan {
 public:
  own_plan(const runtime& device, const op::activation& o, const plan_request& request)
      : call_plan(request.pass == op::pass::bwd ? "layerbench:activation_gradient"
                                                : "layerbench:activation",
                  device, o.operands(request.pass, request.type), request.layout),
        backward_(request.pass == op::pass::bwd),
        kind_(static_cast<int>(o.kind)),
        size_(elements(o.dims)),
        kernel_(device.find(request.type, backward_ ? "activation_gradient" : "activation")) {}

  void run(const binding& bound) const {
    const grid grid = grid_for_vectors(size_, logical(0).type);
    if (backward_) {
      kernel_.launch(grid, bound[0], bound[1], bound[2], size_, kind_);
    } else {
      kernel_.launch(grid, bound[0], bound[1], size_, kind_);
    }
  }

 private:
  bool backward_;
  int kind_;  ///< as the kernels number them
  std::int64_t size_;
  kernel kernel_;
};

}  // namespace layerbench::gpu
