// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::activation> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::activation& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    using namespace dnnl;
    if (request.type == dtype::s8 && o.kind != op::activation_kind::relu) {
      throw unsupported("oneDNN has no activation but relu for integers");
    }
    onednn::checked("activation", [&] {
      const memory::desc tensor =
          onednn::activations(device, extents(0), request.type, request.order);
      const bool backward = request.pass == op::pass::bwd;
      const function f = function_of(o.kind);
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

 private:
  struct function {
    dnnl::algorithm kind;
    dnnl::algorithm gradient;  ///< the variant that reads dst where there is one
    float alpha = 0;
    float beta = 0;
  };

  static function function_of(op::activation_kind kind) {
    using enum dnnl::algorithm;
    switch (kind) {
      case op::activation_kind::relu: return {eltwise_relu, eltwise_relu_use_dst_for_bwd};
      case op::activation_kind::relu6: return {eltwise_clip, eltwise_clip, 0, 6};
      case op::activation_kind::leaky_relu:
        return {eltwise_relu, eltwise_relu_use_dst_for_bwd, 0.01F};
      case op::activation_kind::elu: return {eltwise_elu, eltwise_elu_use_dst_for_bwd, 1};
      case op::activation_kind::sigmoid:
        return {eltwise_logistic, eltwise_logistic_use_dst_for_bwd};
      case op::activation_kind::tanh: return {eltwise_tanh, eltwise_tanh_use_dst_for_bwd};
      case op::activation_kind::gelu: return {eltwise_gelu_erf, eltwise_gelu_erf};
      case op::activation_kind::swish: return {eltwise_swish, eltwise_swish, 1};
      case op::activation_kind::hardswish:
        return {eltwise_hardswish, eltwise_hardswish, 1.0F / 6, 0.5F};
      case op::activation_kind::hardsigmoid:
        return {eltwise_hardsigmoid, eltwise_hardsigmoid, 1.0F / 6, 0.5F};
    }
    throw unsupported("oneDNN does not have this activation");
  }
};

static_assert(implements<onednn::backend, op::activation>);

}  // namespace layerbench
