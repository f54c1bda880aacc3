// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/resample.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::resample> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::resample& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("resampling", [&] { build(device, o, request); });
  }

 private:
  void build(const onednn::backend& device, const op::resample& o, const plan_request& request) {
    using namespace dnnl;
    const auto kind = o.kind == op::resample_kind::nearest ? algorithm::resampling_nearest
                                                           : algorithm::resampling_linear;
    const bool backward = request.pass == op::pass::bwd;
    const memory::desc image =
        onednn::activations(device, {o.n, o.c, o.h, o.w}, request.type, request.layout);
    const memory::desc result =
        onednn::activations(device, {o.n, o.c, o.p, o.q}, request.type, request.layout);
    const resampling_forward::primitive_desc forward(
        device.engine(), backward ? prop_kind::forward_training : prop_kind::forward_inference,
        kind, image, result, attributes());
    if (backward) {
      const resampling_backward::primitive_desc created(device.engine(), kind, image, result,
                                                        forward, attributes());
      set_primitive(created, {DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC},
                    {created.diff_dst_desc(), created.diff_src_desc()});
    } else {
      set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST},
                    {forward.src_desc(), forward.dst_desc()});
    }
  }
};

static_assert(implements<onednn::backend, op::resample>);

}  // namespace layerbench
