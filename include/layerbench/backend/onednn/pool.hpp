// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::pool> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& here, const op::pool& o, const plan_request& request)
      : primitive_plan(here, o.operands(request.pass, request.type)) {
    onednn::checked("pooling", [&] { build(here, o, request); });
  }

 private:
  void build(const onednn::backend& here, const op::pool& o, const plan_request& request) {
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
    const pooling_forward::primitive_desc made(
        here.engine(), prop_kind::forward_inference, kind,
        onednn::activations(here, extents(0), request.type, request.order),
        onednn::activations(here, extents(1), request.type, request.order),
        {o.stride.v, o.stride.h}, {o.r, o.s}, {0, 0}, {o.pad.top, o.pad.left}, {below, right},
        attributes());
    adopt(made, {DNNL_ARG_SRC, DNNL_ARG_DST}, {made.src_desc(), made.dst_desc()});
  }
};

static_assert(implements<onednn::backend, op::pool>);

}  // namespace layerbench
