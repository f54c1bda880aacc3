// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::pool> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::pool& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("pooling", [&] { build(device, o, request); });
    if (o.has_depth()) onednn::checked("pooling", [&] { fold_volumes(); });
  }

 private:
  void build(const onednn::backend& device, const op::pool& o, const plan_request& request) {
    using namespace dnnl;
    // Trailing padding that the last window needs. oneDNN requires that it matches the output size.
    const auto trailing = [](std::int64_t outputs, std::int64_t stride, std::int64_t window,
                             std::int64_t size, std::int64_t leading) {
      return (outputs - 1) * stride + window - size - leading;
    };
    const std::int64_t below = trailing(o.p(), o.stride.v, o.r, o.h, o.pad.top);
    const std::int64_t right = trailing(o.q(), o.stride.h, o.s, o.w, o.pad.left);
    const std::int64_t behind = trailing(o.z(), o.depth_stride, o.t, o.d, o.depth_pad.value);
    const bool average = o.kind == op::pool_kind::average;
    const bool beyond = behind > o.depth_pad.value || below > o.pad.bottom || right > o.pad.right;
    const bool padded = o.depth_pad.value + o.pad.top + o.pad.left + o.pad.bottom + o.pad.right > 0;
    if (average && o.count_padding && beyond && padded) {
      throw unsupported(
          "oneDNN includes elements beyond the padding in an average with sizes rounded up");
    }
    // Without padding, a window that reaches beyond the image averages the elements on it.
    const bool includes = o.count_padding && !beyond;
    using enum dnnl::algorithm;
    const auto kind = !average   ? pooling_max
                      : includes ? pooling_avg_include_padding
                                 : pooling_avg_exclude_padding;
    const bool training = request.pass != op::pass::fwd;
    const auto stored = [&](std::int64_t planes, std::int64_t rows, std::int64_t columns) {
      const dims extents{o.n, o.c, planes * rows, columns};
      return onednn::with_depth(o, planes,
                                onednn::activations(device, extents, request.type, request.layout));
    };
    const memory::desc image = stored(o.d, o.h, o.w);
    const memory::desc result = stored(o.z(), o.p(), o.q());
    const dims strides = onednn::strides(o);
    const dims window = onednn::window_sizes(o, o.t, o.r, o.s);
    const dims dilation = onednn::window_sizes(o, 0, 0, 0);
    const dims padding_begin = onednn::padding_begin(o);
    const dims padding_end = onednn::window_sizes(o, behind, below, right);
    const pooling_forward::primitive_desc forward(
        device.engine(), training ? prop_kind::forward_training : prop_kind::forward_inference,
        kind, image, result, strides, window, dilation, padding_begin, padding_end, attributes());
    if (request.pass == op::pass::bwd) {
      const pooling_backward::primitive_desc backward(device.engine(), kind, image, result, strides,
                                                      window, dilation, padding_begin, padding_end,
                                                      forward, attributes());
      if (o.kind == op::pool_kind::max) {
        set_primitive(
            backward, {DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_SRC},
            {backward.diff_dst_desc(), backward.workspace_desc(), backward.diff_src_desc()});
      } else {
        set_primitive(backward, {DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC},
                      {backward.diff_dst_desc(), backward.diff_src_desc()});
      }
    } else if (training) {
      set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WORKSPACE},
                    {forward.src_desc(), forward.dst_desc(), forward.workspace_desc()});
    } else {
      set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST},
                    {forward.src_desc(), forward.dst_desc()});
    }
  }
};

static_assert(implements<onednn::backend, op::pool>);

}  // namespace layerbench
