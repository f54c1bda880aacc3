// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/pad.hpp>
#include <layerbench/op/slice.hpp>

namespace layerbench {

/// The kernel of a padding, of which a slice is the gradient.
template <>
class plan<cudnn::backend, op::slice> : public cudnn::padding_plan {
 public:
  plan(cudnn::backend& device, const op::slice& o, const plan_request& request)
      : padding_plan(device, o.operands(request.pass, request.type), o.padding(),
                     request.pass != op::pass::bwd, request) {}
};

static_assert(implements<cudnn::backend, op::slice>);

}  // namespace layerbench
