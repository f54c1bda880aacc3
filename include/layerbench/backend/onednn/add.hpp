// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::add> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& here, const op::add& o, const plan_request& request)
      : primitive_plan(here, o.operands(request.pass, request.type)) {
    using namespace dnnl;
    onednn::checked("addition", [&] {
      const memory::desc tensor =
          onednn::activations(here, extents(0), request.type, request.order);
      const binary::primitive_desc made(here.engine(), algorithm::binary_add, tensor, tensor,
                                        tensor, attributes());
      adopt(made, {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST}, {tensor, tensor, tensor});
    });
  }
};

static_assert(implements<onednn::backend, op::add>);

}  // namespace layerbench
