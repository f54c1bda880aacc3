// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::add> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::add& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    using namespace dnnl;
    onednn::checked("addition", [&] {
      const memory::desc tensor =
          onednn::activations(device, extents(0), request.type, request.order);
      const binary::primitive_desc result(device.engine(), algorithm::binary_add, tensor, tensor,
                                          tensor, attributes());
      set_primitive(result, {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST},
                    {tensor, tensor, tensor});
    });
  }
};

static_assert(implements<onednn::backend, op::add>);

}  // namespace layerbench
