// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/rotary.hpp>

namespace layerbench::gpu {

/// A layerbench kernel: neither library has this op.
template <>
class own_plan<op::rotary> : public call_plan {
 public:
  own_plan(const runtime& device, const op::rotary& o, const plan_request& request)
      : call_plan("layerbench:rotary", device, o.operands(request.pass, request.type),
                  request.layout),
        o_(o),
        back_(request.pass == op::pass::bwd ? 1 : 0),
        kernel_(device.find(request.type, "rotary")) {}

  void run(const binding& bound) const {
    const std::int64_t pairs = o_.size() / 2;
    kernel_.launch(grid_for_vectors(pairs, logical(0).type), bound[0], bound[1], bound[2], bound[3],
                   pairs, o_.d / 2, o_.heads, o_.tokens, back_);
  }

 private:
  op::rotary o_;
  int back_;  ///< whether pairs are turned back
  kernel kernel_;
};

}  // namespace layerbench::gpu
