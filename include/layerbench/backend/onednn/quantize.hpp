// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/quantize.hpp>

namespace layerbench {

/// The library's reorder, with scales and zero points of integers.
template <>
class plan<onednn::backend, op::quantize> : public onednn::primitive_plan {
 public:
  static constexpr bool has_quantization = true;

  plan(const onednn::backend& device, const op::quantize& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("quantisation", [&] {
      const auto tensor = [&](std::size_t i) {
        // In blocks, as f32 convolutions want them, an image would be padded for no reader.
        return onednn::plain_or_nhwc_activations(device, o.dims, operands()[i].logical.type,
                                                 request.layout);
      };
      dnnl::primitive_attr attr = attributes();
      describe_integers(attr, DNNL_ARG_FROM, 0);
      describe_integers(attr, DNNL_ARG_TO, 1);
      const dnnl::reorder::primitive_desc result(device.engine(), tensor(0), device.engine(),
                                                 tensor(1), attr);
      set_primitive(result, {DNNL_ARG_FROM, DNNL_ARG_TO}, {result.src_desc(), result.dst_desc()},
                    integers({0, 1}));
    });
  }
};

static_assert(implements<onednn::backend, op::quantize>);

}  // namespace layerbench
