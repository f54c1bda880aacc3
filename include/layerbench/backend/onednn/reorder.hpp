// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::reorder> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& here, const op::reorder& o, const plan_request& request)
      : primitive_plan(here, o.operands(request.pass, request.type)) {
    onednn::checked("reorder", [&] {
      const dnnl::reorder::primitive_desc made(
          here.engine(), onednn::in_order(o.dims, request.type, o.from), here.engine(),
          onednn::in_order(o.dims, request.type, o.to), attributes());
      adopt(made, {DNNL_ARG_FROM, DNNL_ARG_TO}, {made.src_desc(), made.dst_desc()});
    });
  }
};

static_assert(implements<onednn::backend, op::reorder>);

}  // namespace layerbench
