// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by the direct algorithms, which are several in the library; weights in its order,
/// packed once for inference.
template <>
class plan<onednn::backend, op::conv> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::conv& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)),
        o_(o),
        image_{
            onednn::chosen_activations(device, {o.n, o.c, o.h, o.w}, request.type, request.order)},
        result_{onednn::chosen_activations(device, {o.n, o.k, o.p(), o.q()}, request.type,
                                           request.order)},
        filters_{onednn::any(o.groups == 1
                                 ? dims{o.k, o.c, o.r, o.s}
                                 : dims{o.groups, o.k / o.groups, o.c / o.groups, o.r, o.s},
                             request.type)} {
    onednn::checked("convolution", [&] {
      switch (request.pass) {
        case op::pass::bwd_data: return build_bwd_data(device, request);
        case op::pass::bwd_weights: return build_bwd_weights(device, request);
        default: return build_fwd(device, request);
      }
    });
  }

 private:
  void build_fwd(const onednn::backend& device, const plan_request& request) {
    const bool integers = request.type == dtype::s8;
    dnnl::primitive_attr attr = attributes();
    if (integers) {
      for (const int argument : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}) {
        attr.set_scales_mask(argument, 0);
      }
    }
    const auto bias = o_.bias ? onednn::plain({o_.k}, onednn::data_type(operands()[2].logical.type))
                              : dnnl::memory::desc();
    auto result = forward(device, dnnl::prop_kind::forward_inference, bias, attr);
    select(result, request.algorithm);
    adopt(result, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
          {result.src_desc(), result.weights_desc(), bias, result.dst_desc()},
          integers ? std::vector<std::size_t>{0, 1, operands().size() - 1}
                   : std::vector<std::size_t>{});
  }

  void build_bwd_data(const onednn::backend& device, const plan_request& request) {
    dnnl::convolution_backward_data::primitive_desc result(
        device.engine(), dnnl::algorithm::convolution_direct, image_, filters_, result_, strides(),
        dilations(), before(), behind(), hint(device), attributes());
    select(result, request.algorithm);
    adopt(result, {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
          {result.diff_dst_desc(), result.weights_desc(), result.diff_src_desc()});
  }

  /// Whether every tap of the filter meets the image somewhere, and not padding alone.
  [[nodiscard]] bool all_taps_meet_the_image() const {
    for (std::int64_t r = 0; r < o_.r; ++r) {
      if (op::window_taps(o_.h, o_.pad.top - r * o_.dilation.v, 1, 1, o_.stride.v, o_.p()) == 0) {
        return false;
      }
    }
    for (std::int64_t s = 0; s < o_.s; ++s) {
      if (op::window_taps(o_.w, o_.pad.left - s * o_.dilation.h, 1, 1, o_.stride.h, o_.q()) == 0) {
        return false;
      }
    }
    return true;
  }

  void build_bwd_weights(const onednn::backend& device, const plan_request& request) {
    const dtype type = request.type;
    if (type != dtype::f32 && !all_taps_meet_the_image()) {
      throw unsupported("oneDNN never writes the 16-bit gradient of taps that meet padding alone");
    }
    const auto bias =
        o_.bias ? onednn::plain({o_.k}, onednn::data_type(type)) : dnnl::memory::desc();
    dnnl::convolution_backward_weights::primitive_desc result(
        device.engine(), dnnl::algorithm::convolution_direct, image_, filters_, bias, result_,
        strides(), dilations(), before(), behind(), hint(device), attributes());
    select(result, request.algorithm);
    adopt(result, {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS},
          {result.src_desc(), result.diff_dst_desc(), result.diff_weights_desc(), bias});
  }

  [[nodiscard]] dnnl::convolution_forward::primitive_desc forward(
      const onednn::backend& target, dnnl::prop_kind kind, const dnnl::memory::desc& bias,
      const dnnl::primitive_attr& attr) const {
    return {target.engine(), kind,      dnnl::algorithm::convolution_direct,
            image_,          filters_,  bias,
            result_,         strides(), dilations(),
            before(),        behind(),  attr};
  }
  /// Backward primitives ask for the forward one that they belong to.
  [[nodiscard]] dnnl::convolution_forward::primitive_desc hint(
      const onednn::backend& device) const {
    return forward(device, dnnl::prop_kind::forward_training, {}, attributes());
  }

  [[nodiscard]] dims strides() const { return {o_.stride.v, o_.stride.h}; }
  [[nodiscard]] dims dilations() const { return {o_.dilation.v - 1, o_.dilation.h - 1}; }
  [[nodiscard]] dims before() const { return {o_.pad.top, o_.pad.left}; }
  [[nodiscard]] dims behind() const { return {o_.pad.bottom, o_.pad.right}; }

  op::conv o_;
  dnnl::memory::desc image_;
  dnnl::memory::desc result_;
  dnnl::memory::desc filters_;
};

static_assert(implements<onednn::backend, op::conv>);

}  // namespace layerbench
