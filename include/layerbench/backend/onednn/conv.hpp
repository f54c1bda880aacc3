// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench {

/// Convolution by one of oneDNN's direct algorithms. Weights are in the library's order, packed
/// once for inference. One that `reorders` gets them row-major and packs them in each call, as
/// PyTorch does without a compiler (aten/src/ATen/native/mkldnn/Conv.cpp and ideep's
/// convolution_forward). It asks oneDNN for forward_training, as PyTorch does even in inference. In
/// nchw it also brings the image into the library's order and the result back.
template <>
class plan<onednn::backend, op::conv> : public onednn::primitive_sequence {
 public:
  static constexpr bool has_post_ops = true;
  static constexpr bool has_quantization = true;
  [[nodiscard]] static constexpr bool has(op::manner how) {
    return how == op::manner::direct || how == op::manner::reorders;
  }

  plan(const onednn::backend& device, const op::conv& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)),
        o_(o),
        image_{onednn::with_depth(o, o.d,
                                  onednn::activations_or_any(device, {o.n, o.c, o.d * o.h, o.w},
                                                             request.type, request.layout))},
        result_{onednn::with_depth(
            o, o.z(),
            onednn::activations_or_any(device, {o.n, o.k, o.z() * o.p(), o.q()},
                                       dtype_of(o.dst_type, request.type), request.layout))},
        filters_{onednn::filters(o, operands()[1].logical.type)} {
    onednn::checked("convolution", [&] {
      switch (request.pass) {
        case op::pass::bwd_data: return build_bwd_data(device, request);
        case op::pass::bwd_weights: return build_bwd_weights(device, request);
        default:
          return request.how == op::manner::reorders ? build_reordering(device, request)
                                                     : build_fwd(device, request);
      }
    });
    if (o.has_depth()) onednn::checked("convolution", [&] { fold_volumes(); });
  }

 private:
  void build_fwd(const onednn::backend& device, const plan_request& request) {
    if (o_.has_depth() && is_integer(request.type)) {
      onednn::backend::refuse_early_amx("ends programs in convolutions of volumes in integers");
    }
    const auto bias = o_.bias ? onednn::plain({o_.k}, onednn::data_type(operands()[2].logical.type))
                              : dnnl::memory::desc();
    auto result = forward_desc(device, dnnl::prop_kind::forward_inference, bias,
                               forward_attributes(o_.post, result_, o_.groups == 1 ? 1 : 3));
    set_forward(result, bias, o_.post, request);
    // This implementation, which is for AVX2 and SSE4.1, adds wrong elements to the last channels.
    const bool adds = std::ranges::find(o_.post, op::post_op::add) != o_.post.end();
    const bool depthwise = o_.groups == o_.c && o_.groups == o_.k;
    if (adds && depthwise && o_.c % 8 != 0 && algorithm().starts_with("jit_uni_int8:")) {
      throw unsupported(
          "oneDNN's jit_uni_int8 adds wrong elements after depthwise convolutions whose channels "
          "are no multiple of 8");
    }
  }

  void build_reordering(const onednn::backend& device, const plan_request& request) {
    using dnnl::memory;
    if (is_integer(request.type)) throw unsupported("oneDNN has no reorders of integers in calls");
    const auto number = onednn::data_type(request.type);
    memory::desc src = image_;
    const memory::desc weights = onednn::plain(filters_.get_dims(), number);
    memory::desc dst = result_;
    const memory::desc bias = o_.bias ? onednn::plain({o_.k}, number) : memory::desc();
    if (request.layout == layout::nchw) {
      image_ = onednn::any(image_.get_dims(), request.type);
      result_ = onednn::any(result_.get_dims(), request.type);
    }
    auto chosen = forward_desc(device, dnnl::prop_kind::forward_training, bias, attributes());
    if (request.layout == layout::any) {  // as the library chose
      src = chosen.src_desc();
      dst = chosen.dst_desc();
    }
    const std::size_t last = operands().size() - 1;
    const location read = reordered(src, operand(0), chosen.src_desc());
    const location packed = reordered(weights, operand(1), chosen.weights_desc());
    const bool as_stored = chosen.dst_desc() == dst;
    const location written = as_stored ? operand(last) : scratch(chosen.dst_desc());
    std::vector<argument> arguments{{DNNL_ARG_SRC, chosen.src_desc(), read},
                                    {DNNL_ARG_WEIGHTS, chosen.weights_desc(), packed},
                                    {DNNL_ARG_DST, chosen.dst_desc(), written}};
    if (o_.bias) arguments.push_back({DNNL_ARG_BIAS, bias, operand(2)});
    add(chosen, std::move(arguments));
    if (!as_stored) add_reorder(chosen.dst_desc(), written, dst, operand(last));
    std::vector<memory::desc> stored{src, weights, bias, dst};
    if (!o_.bias) stored.erase(stored.begin() + 2);
    finish(stored);
  }

  /// Where a tensor lies as `wanted`, after a reorder unless it does already.
  location reordered(const dnnl::memory::desc& from, const location& at,
                     const dnnl::memory::desc& wanted) {
    if (from == wanted) return at;
    const location result = scratch(wanted);
    add_reorder(from, at, wanted, result);
    return result;
  }

  void build_bwd_data(const onednn::backend& device, const plan_request& request) {
    dnnl::convolution_backward_data::primitive_desc result(
        device.engine(), dnnl::algorithm::convolution_direct, image_, filters_, result_,
        onednn::strides(o_), onednn::dilations(o_), onednn::padding_begin(o_), padding_end(),
        hint(device), attributes());
    select(result, request.algorithm);
    set_primitive(result, {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                  {result.diff_dst_desc(), result.weights_desc(), result.diff_src_desc()});
  }

  void build_bwd_weights(const onednn::backend& device, const plan_request& request) {
    const dtype type = request.type;
    if (type != dtype::f32 && !o_.all_taps_overlap_image()) {
      throw unsupported(
          "oneDNN does not write 16-bit gradients of filter taps that only overlap padding");
    }
    const auto bias =
        o_.bias ? onednn::plain({o_.k}, onednn::data_type(type)) : dnnl::memory::desc();
    dnnl::convolution_backward_weights::primitive_desc result(
        device.engine(), dnnl::algorithm::convolution_direct, image_, filters_, bias, result_,
        onednn::strides(o_), onednn::dilations(o_), onednn::padding_begin(o_), padding_end(),
        hint(device), attributes());
    select(result, request.algorithm);
    set_primitive(result,
                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS},
                  {result.src_desc(), result.diff_dst_desc(), result.diff_weights_desc(), bias});
  }

  [[nodiscard]] dnnl::convolution_forward::primitive_desc forward_desc(
      const onednn::backend& device, dnnl::prop_kind kind, const dnnl::memory::desc& bias,
      const dnnl::primitive_attr& attr) const {
    return {device.engine(),
            kind,
            dnnl::algorithm::convolution_direct,
            image_,
            filters_,
            bias,
            result_,
            onednn::strides(o_),
            onednn::dilations(o_),
            onednn::padding_begin(o_),
            padding_end(),
            attr};
  }
  /// The forward primitive descriptor that oneDNN requires as a hint for backward ones.
  [[nodiscard]] dnnl::convolution_forward::primitive_desc hint(
      const onednn::backend& device) const {
    return forward_desc(device, dnnl::prop_kind::forward_training, {}, attributes());
  }

  [[nodiscard]] dims padding_end() const {
    return onednn::window_sizes(o_, o_.depth_pad.value, o_.pad.bottom, o_.pad.right);
  }

  op::conv o_;
  dnnl::memory::desc image_;
  dnnl::memory::desc result_;
  dnnl::memory::desc filters_;
};

static_assert(implements<onednn::backend, op::conv>);

}  // namespace layerbench
