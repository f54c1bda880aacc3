// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/kernels/gpu/plans/pad.hpp>
#include <layerbench/op/slice.hpp>

namespace layerbench::gpu {

/// The kernel of a padding, of which a slice is the gradient.
template <>
class own_plan<op::slice> : public padding_plan {
 public:
  own_plan(const runtime& device, const op::slice& o, const plan_request& request)
      : padding_plan(device, o.operands(request.pass, request.type), o.padding(),
                     request.pass != op::pass::bwd, request) {}
};

}  // namespace layerbench::gpu
