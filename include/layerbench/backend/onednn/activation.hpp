// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/post_ops.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::activation> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::activation& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    using namespace dnnl;
    if (is_integer(request.type) && o.kind != op::activation_kind::relu) {
      throw unsupported("oneDNN has no activation but relu for integers");
    }
    onednn::checked("activation", [&] {
      const memory::desc tensor =
          onednn::activations(device, extents(0), request.type, request.layout);
      const bool backward = request.pass == op::pass::bwd;
      const onednn::eltwise f = onednn::eltwise_of(o.kind);
      const eltwise_forward::primitive_desc forward(
          device.engine(), backward ? prop_kind::forward_training : prop_kind::forward_inference,
          f.kind, tensor, tensor, f.alpha, f.beta, attributes());
      if (backward) {
        const eltwise_backward::primitive_desc result(device.engine(), f.gradient, tensor, tensor,
                                                      tensor, f.alpha, f.beta, forward,
                                                      attributes());
        set_primitive(result,
                      {o.gradient_from_destination() ? DNNL_ARG_DST : DNNL_ARG_SRC,
                       DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC},
                      {tensor, result.diff_dst_desc(), result.diff_src_desc()});
      } else {
        set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST},
                      {forward.src_desc(), forward.dst_desc()});
      }
    });
  }
};

static_assert(implements<onednn::backend, op::activation>);

}  // namespace layerbench
