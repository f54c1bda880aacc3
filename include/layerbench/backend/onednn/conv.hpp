// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the direct algorithms; weights in the library's order, packed once.
template <>
class plan<onednn::backend, op::conv> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& here, const op::conv& o, const plan_request& request)
      : primitive_plan(here, o.operands(request.pass, request.type)) {
    onednn::checked("convolution", [&] { build(here, o, request); });
  }

 private:
  void build(const onednn::backend& here, const op::conv& o, const plan_request& request) {
    using namespace dnnl;
    const bool integers = request.type == dtype::s8;
    const std::size_t last = operands().size() - 1;
    const auto image = [&](std::size_t i) {
      return onednn::chosen_activations(here, extents(i), request.type, request.order);
    };
    const dims filters =
        o.groups == 1 ? extents(1) : dims{o.groups, o.k / o.groups, o.c / o.groups, o.r, o.s};
    const memory::desc bias =
        o.bias ? onednn::plain({o.k}, onednn::data_type(operands()[2].logical.type))
               : memory::desc();
    primitive_attr attr = attributes();
    if (integers) {
      for (const int argument : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}) {
        attr.set_scales_mask(argument, 0);
      }
    }
    const convolution_forward::primitive_desc made(
        here.engine(), prop_kind::forward_inference, algorithm::convolution_direct, image(0),
        onednn::any(filters, request.type), bias, image(last), {o.stride.v, o.stride.h},
        {o.dilation.v - 1, o.dilation.h - 1}, {o.pad.top, o.pad.left}, {o.pad.bottom, o.pad.right},
        attr);
    const std::vector<std::size_t> scaled =
        integers ? std::vector<std::size_t>{0, 1, last} : std::vector<std::size_t>{};
    if (o.bias) {
      adopt(made, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
            {made.src_desc(), made.weights_desc(), made.bias_desc(), made.dst_desc()}, scaled);
    } else {
      adopt(made, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
            {made.src_desc(), made.weights_desc(), made.dst_desc()}, scaled);
    }
  }
};

static_assert(implements<onednn::backend, op::conv>);

}  // namespace layerbench
