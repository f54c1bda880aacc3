// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/deconv.hpp>

namespace layerbench {

/// Transposed convolution by the direct algorithms, as plan<onednn::backend, op::conv> has it.
template <>
class plan<onednn::backend, op::deconv> : public onednn::primitive_plan {
 public:
  static constexpr bool has_post_ops = true;

  plan(const onednn::backend& device, const op::deconv& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)),
        o_(o),
        image_{onednn::with_depth(o, o.d,
                                  onednn::activations_or_any(device, {o.n, o.c, o.d * o.h, o.w},
                                                             request.type, request.layout))},
        result_{
            onednn::with_depth(o, o.z(),
                               onednn::activations_or_any(device, {o.n, o.k, o.z() * o.p(), o.q()},
                                                          request.type, request.layout))},
        filters_{onednn::filters(o, request.type)} {
    refuse_wrong_results(request);
    onednn::checked("transposed convolution", [&] {
      switch (request.pass) {
        case op::pass::bwd_data: return build_bwd_data(device, request);
        case op::pass::bwd_weights: return build_bwd_weights(device, request);
        default: return build_fwd(device, request);
      }
    });
    if (o.has_depth()) onednn::checked("transposed convolution", [&] { fold_volumes(); });
  }

 private:
  /// Whether `visits(outer, inner)` is true of some inner index below `inner`, for each outer one.
  template <class Visits>
  [[nodiscard]] static bool covers(std::int64_t outer, std::int64_t inner, const Visits& visits) {
    for (std::int64_t i = 0; i < outer; ++i) {
      bool found = false;
      for (std::int64_t j = 0; j < inner && !found; ++j) found = visits(i, j);
      if (!found) return false;
    }
    return true;
  }

  /// Throws unsupported where the library leaves elements of its results unwritten (3.x).
  void refuse_wrong_results(const plan_request& request) const {
    const bool narrow = request.type != dtype::f32;
    if (narrow && !is_integer(request.type) && request.pass == op::pass::bwd_data) {
      onednn::backend::refuse_early_amx("computes wrong gradients in 16 bits");
    }
    if (narrow && request.pass == op::pass::bwd_weights) {
      if (o_.transposed().all_taps_overlap_image()) return;
      throw unsupported("oneDNN never writes the 16-bit gradient of taps that meet padding alone");
    }
    if (is_integer(request.type)) {
      if (std::ranges::any_of(o_.post, op::is_addition)) {
        throw unsupported("oneDNN rounds integers before it adds another tensor to them");
      }
      const auto reaches = [](std::int64_t at, std::int64_t stride, std::int64_t size) {
        return at >= 0 && at % stride == 0 && at / stride < size;
      };
      const bool rows = covers(o_.p(), o_.r, [&](std::int64_t y, std::int64_t r) {
        return reaches(y + o_.pad.top - r * o_.dilation.v, o_.stride.v, o_.h);
      });
      const bool columns = covers(o_.q(), o_.s, [&](std::int64_t x, std::int64_t s) {
        return reaches(x + o_.pad.left - s * o_.dilation.h, o_.stride.h, o_.w);
      });
      const bool planes = covers(o_.z(), o_.t, [&](std::int64_t z, std::int64_t t) {
        return reaches(z + o_.depth_pad.value - t * o_.depth_dilation, o_.depth_stride, o_.d);
      });
      if (rows && columns && planes) return;
      throw unsupported("oneDNN never writes integers that no tap of a filter reaches");
    }
  }

  void build_fwd(const onednn::backend& device, const plan_request& request) {
    const auto bias = o_.bias ? onednn::plain({o_.k}, onednn::data_type(operands()[2].logical.type))
                              : dnnl::memory::desc();
    auto result = forward_desc(device, dnnl::prop_kind::forward_inference, bias,
                               forward_attributes(o_.post, result_, 0));
    set_forward(result, bias, o_.post, request);
  }

  void build_bwd_data(const onednn::backend& device, const plan_request& request) {
    dnnl::deconvolution_backward_data::primitive_desc result(
        device.engine(), dnnl::algorithm::deconvolution_direct, image_, filters_, result_,
        onednn::strides(o_), onednn::dilations(o_), onednn::padding_begin(o_), behind(),
        hint(device), attributes());
    select(result, request.algorithm);
    set_primitive(result, {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
                  {result.diff_dst_desc(), result.weights_desc(), result.diff_src_desc()});
  }

  void build_bwd_weights(const onednn::backend& device, const plan_request& request) {
    const auto bias =
        o_.bias ? onednn::plain({o_.k}, onednn::data_type(request.type)) : dnnl::memory::desc();
    dnnl::deconvolution_backward_weights::primitive_desc result(
        device.engine(), dnnl::algorithm::deconvolution_direct, image_, filters_, bias, result_,
        onednn::strides(o_), onednn::dilations(o_), onednn::padding_begin(o_), behind(),
        hint(device), attributes());
    select(result, request.algorithm);
    set_primitive(result,
                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS},
                  {result.src_desc(), result.diff_dst_desc(), result.diff_weights_desc(), bias});
  }

  [[nodiscard]] dnnl::deconvolution_forward::primitive_desc forward_desc(
      const onednn::backend& device, dnnl::prop_kind kind, const dnnl::memory::desc& bias,
      const dnnl::primitive_attr& attr) const {
    return {device.engine(),
            kind,
            dnnl::algorithm::deconvolution_direct,
            image_,
            filters_,
            bias,
            result_,
            onednn::strides(o_),
            onednn::dilations(o_),
            onednn::padding_begin(o_),
            behind(),
            attr};
  }
  /// Backward primitives ask for the forward one that they belong to.
  [[nodiscard]] dnnl::deconvolution_forward::primitive_desc hint(
      const onednn::backend& device) const {
    return forward_desc(device, dnnl::prop_kind::forward_training, {}, attributes());
  }

  [[nodiscard]] dims behind() const {
    return onednn::window_sizes(o_, o_.depth_pad.value - o_.depth_output_pad.value,
                                o_.pad.bottom - o_.output_pad.bottom,
                                o_.pad.right - o_.output_pad.right);
  }

  op::deconv o_;
  dnnl::memory::desc image_;
  dnnl::memory::desc result_;
  dnnl::memory::desc filters_;
};

static_assert(implements<onednn::backend, op::deconv>);

}  // namespace layerbench
