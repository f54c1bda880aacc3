// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/transpose.hpp>

namespace layerbench {

/// A reorder between tensors whose axes are the loops of the copy.
template <>
class plan<onednn::backend, op::transpose> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::transpose& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    const auto stored = [&](std::size_t i) {
      return onednn::plain_or_nhwc_activations(device, extents(i), request.type, request.layout);
    };
    onednn::checked("transpose", [&] {
      const dnnl::memory::desc src = stored(0);
      const dnnl::memory::desc dst = stored(1);
      const op::transpose moved = request.pass == op::pass::bwd ? o.inverse() : o;
      dims loops;
      dims src_steps;
      dims dst_steps;
      for (const auto& loop : moved.loops(src.get_strides(), dst.get_strides())) {
        loops.push_back(loop.extent);
        src_steps.push_back(loop.src_step);
        dst_steps.push_back(loop.dst_step);
      }
      const auto type = onednn::data_type(request.type);
      const dnnl::memory::desc from(loops, type, src_steps);
      const dnnl::memory::desc to(loops, type, dst_steps);
      const dnnl::reorder::primitive_desc result(device.engine(), from, device.engine(), to,
                                                 attributes());
      set_primitive(result, {DNNL_ARG_FROM, DNNL_ARG_TO}, {src, dst});
      set_passed_desc(0, from);
      set_passed_desc(1, to);
    });
  }
};

static_assert(implements<onednn::backend, op::transpose>);

}  // namespace layerbench
