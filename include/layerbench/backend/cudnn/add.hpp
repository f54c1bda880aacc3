// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench {

/// A layerbench kernel. cudnnOpTensor takes 1.5 to 3.5 times as long as a copy on an H100
/// (results/gpu), though a sum touches only half as many bytes more.
template <>
class plan<cudnn::backend, op::add> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::add& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request, "nvrtc_add"),
        size_(elements(o.dims)),
        kernel_(device.kernels().find(request.type, "add")) {
    if (o.broadcast || request.pass == op::pass::bwd) {
      throw unsupported("layerbench has no cuDNN plans of sums with a broadcast or learned src1");
    }
  }

  void run(const binding& bound) const {
    kernel_.launch(stream(), cuda::grid_for_vectors(size_, logical(0).type), bound[0], bound[1],
                   bound[2], size_);
  }

 private:
  std::int64_t size_;
  cuda::kernel kernel_;
};

static_assert(implements<cudnn::backend, op::add>);

}  // namespace layerbench
