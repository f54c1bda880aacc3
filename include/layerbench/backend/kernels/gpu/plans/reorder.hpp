// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include <layerbench/backend/kernels/gpu/plans/transpose.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench::gpu {

/// As a transpose that leaves the axes as they are, between tensors of other orders.
template <>
class own_plan<op::reorder> : public copy_plan {
 public:
  own_plan(const runtime& device, const op::reorder& o, const plan_request& request)
      : copy_plan(device, o.operands(request.pass, request.type),
                  std::vector<std::string>{o.from, o.to}, request.type) {
    dims axes(o.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    const op::transpose same{o.dims, {}, {axes}, {}};
    set_loops(same.loops(strides_of(0), strides_of(1)));
  }
};

}  // namespace layerbench::gpu
