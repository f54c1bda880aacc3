// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/lrn.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::lrn> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::lrn& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("local response normalisation", [&] { build(device, o, request); });
  }

 private:
  void build(const onednn::backend& device, const op::lrn& o, const plan_request& request) {
    using namespace dnnl;
    const memory::desc image =
        onednn::activations(device, extents(0), request.type, request.layout);
    const auto alpha = static_cast<float>(o.alpha);
    const auto beta = static_cast<float>(o.beta);
    const auto k = static_cast<float>(o.k);
    const bool training = request.pass != op::pass::fwd;
    const lrn_forward::primitive_desc forward(
        device.engine(), training ? prop_kind::forward_training : prop_kind::forward_inference,
        algorithm::lrn_across_channels, image, image, o.size, alpha, beta, k, attributes());
    if (request.pass == op::pass::bwd) {
      // Version 3.2 reads the first of no neighbours, and crashes.
      if (o.size == 1) throw unsupported("oneDNN has no gradient of sums of one channel");
      const lrn_backward::primitive_desc created(device.engine(), algorithm::lrn_across_channels,
                                                 image, image, image, o.size, alpha, beta, k,
                                                 forward, attributes());
      require_right(o, request.type, created.impl_info_str());
      set_primitive(
          created,
          {DNNL_ARG_SRC, not_an_argument, DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_SRC},
          {image, image, image, created.workspace_desc(), image});
    } else if (training) {
      set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WORKSPACE},
                    {image, image, forward.workspace_desc()});
    } else {
      set_primitive(forward, {DNNL_ARG_SRC, DNNL_ARG_DST}, {image, image});
    }
  }

  /// Throws unsupported for gradients that version 3.2 computes wrongly, on processors with AVX-512
  /// and of images with the channels last, where a sum reaches into the next 16 channels.
  static void require_right(const op::lrn& o, dtype type, std::string_view implementation) {
    constexpr std::int64_t block = 16;
    if (o.c <= block || !implementation.starts_with("lrn_jit:avx512")) return;
    const bool remainder = o.c % block != 0;
    const bool wide = o.size > 5;
    if (type == dtype::f32 ? remainder && wide : remainder || wide) {
      throw unsupported("oneDNN's gradient is wrong for this size and number of channels");
    }
  }
};

static_assert(implements<onednn::backend, op::lrn>);

}  // namespace layerbench
