// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/append.hpp>

namespace layerbench {

/// A reorder into a part of the cache.
template <>
class plan<onednn::backend, op::append> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::append& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("append", [&] {
      const auto number = onednn::data_type(request.type);
      const op::operand& dst = operands()[1].logical;
      const dnnl::memory::desc part =
          onednn::plain(dst.tensor(), number).submemory_desc(dst.extents, {0, dst.first, 0});
      const dnnl::reorder::primitive_desc result(device.engine(), onednn::plain(extents(0), number),
                                                 device.engine(), part, attributes());
      set_primitive(result, {DNNL_ARG_FROM, DNNL_ARG_TO}, {result.src_desc(), part});
    });
  }
};

static_assert(implements<onednn::backend, op::append>);

}  // namespace layerbench
