// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::batchnorm> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& here, const op::batchnorm& o, const plan_request& request)
      : primitive_plan(here, o.operands(request.pass, request.type)) {
    using namespace dnnl;
    onednn::checked("batch normalisation", [&] {
      const memory::desc image = onednn::activations(here, extents(0), request.type, request.order);
      const memory::desc channels = onednn::plain({o.c}, memory::data_type::f32);
      const batch_normalization_forward::primitive_desc made(
          here.engine(), prop_kind::forward_inference, image, image, static_cast<float>(o.epsilon),
          normalization_flags::use_global_stats | normalization_flags::use_scale |
              normalization_flags::use_shift,
          attributes());
      adopt(made,
            {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE,
             DNNL_ARG_DST},
            {made.src_desc(), channels, channels, channels, channels, made.dst_desc()});
    });
  }
};

static_assert(implements<onednn::backend, op::batchnorm>);

}  // namespace layerbench
