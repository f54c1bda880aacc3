// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/rotary.hpp>

namespace layerbench {

/// A layerbench kernel: neither library has this op.
template <>
class plan<cudnn::backend, op::rotary> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::rotary& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request, "nvrtc_rotary"),
        o_(o),
        back_(request.pass == op::pass::bwd ? 1 : 0),
        kernel_(device.kernels().find(request.type, "rotary")) {}

  void run(const binding& bound) const {
    const std::int64_t pairs = o_.size() / 2;
    kernel_.launch(stream(), cuda::grid_for_vectors(pairs, logical(0).type), bound[0], bound[1],
                   bound[2], bound[3], pairs, o_.d / 2, o_.heads, o_.tokens, back_);
  }

 private:
  op::rotary o_;
  int back_;  ///< whether pairs are turned back
  cuda::kernel kernel_;
};

static_assert(implements<cudnn::backend, op::rotary>);

}  // namespace layerbench
