// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::reorder> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::reorder& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("reorder", [&] {
      const dnnl::reorder::primitive_desc result(
          device.engine(), onednn::in_order(o.dims, request.type, o.from), device.engine(),
          onednn::in_order(o.dims, request.type, o.to), attributes());
      set_primitive(result, {DNNL_ARG_FROM, DNNL_ARG_TO}, {result.src_desc(), result.dst_desc()});
    });
  }
};

static_assert(implements<onednn::backend, op::reorder>);

}  // namespace layerbench
