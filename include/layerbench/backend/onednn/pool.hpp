// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::pool> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& target, const op::pool& o, const plan_request& request)
      : primitive_plan(target, o.operands(request.pass, request.type)) {
    onednn::checked("pooling", [&] { build(target, o, request); });
  }

 private:
  void build(const onednn::backend& device, const op::pool& o, const plan_request& request) {
    using namespace dnnl;
    // What the last windows need; the library checks that sizes and padding fit exactly.
    const auto trailing = [](std::int64_t outputs, std::int64_t stride, std::int64_t window,
                             std::int64_t size, std::int64_t leading) {
      return (outputs - 1) * stride + window - size - leading;
    };
    const std::int64_t below = trailing(o.p(), o.stride.v, o.r, o.h, o.pad.top);
    const std::int64_t right = trailing(o.q(), o.stride.h, o.s, o.w, o.pad.left);
    if (o.kind == op::pool_kind::average && o.count_padding &&
        (below > o.pad.bottom || right > o.pad.right)) {
      throw unsupported("oneDNN counts what a rounded-up average reaches beyond its padding");
    }
    using enum dnnl::algorithm;
    const auto kind = o.kind == op::pool_kind::max ? pooling_max
                      : o.count_padding            ? pooling_avg_include_padding
                                                   : pooling_avg_exclude_padding;
    const bool training = request.pass != op::pass::fwd;
    const bool maxima = o.kind == op::pool_kind::max;
    const memory::desc image =
        onednn::activations(device, {o.n, o.c, o.h, o.w}, request.type, request.order);
    const memory::desc result =
        onednn::activations(device, {o.n, o.c, o.p(), o.q()}, request.type, request.order);
    const dims strides{o.stride.v, o.stride.h};
    const dims window{o.r, o.s};
    const dims before{o.pad.top, o.pad.left};
    const pooling_forward::primitive_desc forward(
        device.engine(), training ? prop_kind::forward_training : prop_kind::forward_inference,
        kind, image, result, strides, window, {0, 0}, before, {below, right}, attributes());
    if (request.pass == op::pass::bwd) {
      const pooling_backward::primitive_desc created(device.engine(), kind, image, result, strides,
                                                     window, {0, 0}, before, {below, right},
                                                     forward, attributes());
      if (maxima) {
        adopt(created, {DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_SRC},
              {created.diff_dst_desc(), created.workspace_desc(), created.diff_src_desc()});
      } else {
        adopt(created, {DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC},
              {created.diff_dst_desc(), created.diff_src_desc()});
      }
    } else if (training) {
      adopt(forward, {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WORKSPACE},
            {forward.src_desc(), forward.dst_desc(), forward.workspace_desc()});
    } else {
      adopt(forward, {DNNL_ARG_SRC, DNNL_ARG_DST}, {forward.src_desc(), forward.dst_desc()});
    }
  }
};

static_assert(implements<onednn::backend, op::pool>);

}  // namespace layerbench
