// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/softmax.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::softmax> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::softmax& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    using namespace dnnl;
    if (is_integer(request.type)) throw unsupported("layerbench has no softmax of integers");
    onednn::checked("softmax", [&] {
      const memory::desc tensor =
          onednn::activations(device, extents(0), request.type, request.layout);
      const bool backward = request.pass == op::pass::bwd;
      const softmax_forward::primitive_desc forward(
          device.engine(), backward ? prop_kind::forward_training : prop_kind::forward_inference,
          algorithm::softmax_accurate, tensor, tensor, static_cast<int>(o.axis), attributes());
      if (backward) {
        const softmax_backward::primitive_desc result(
            device.engine(), algorithm::softmax_accurate, tensor, tensor, tensor,
            static_cast<int>(o.axis), forward, attributes());
        set_primitive(result, {DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC},
                      {result.dst_desc(), result.diff_dst_desc(), result.diff_src_desc()});
      } else {
        set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST},
                      {forward.src_desc(), forward.dst_desc()});
      }
    });
  }
};

static_assert(implements<onednn::backend, op::softmax>);

}  // namespace layerbench
