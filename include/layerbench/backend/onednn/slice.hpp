// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include <layerbench/backend/kernels/host/pad.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/slice.hpp>

namespace layerbench {

/// Forward is a reorder of a part of the source. The gradient is the loop of a padding: by the
/// library it would be two passes over memory, zeros and a reorder into a part of them.
template <>
class plan<onednn::backend, op::slice> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::slice& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    if (request.pass == op::pass::bwd) {
      onednn::checked("slice", [&] { build_bwd(device, o, request); });
    } else {
      onednn::checked("slice", [&] { build_fwd(device, o, request); });
    }
  }

  void run(const binding& bound) const {
    if (!padding_) return primitive_plan::run(bound);
    padding_->run(at<void>(bound, 0), at<void>(bound, 1));
  }

 private:
  void build_bwd(const onednn::backend& device, const op::slice& o, const plan_request& request) {
    const auto stored = [&](std::size_t i) {
      return onednn::plain_or_nhwc_activations(device, extents(i), request.type, request.layout);
    };
    set_loop({stored(0), stored(1)}, host::padding::algorithm);
    padding_.emplace(o.padding(), false, request.type, stored(0).get_strides(),
                     stored(1).get_strides());
  }

  void build_fwd(const onednn::backend& device, const op::slice& o, const plan_request& request) {
    dims offsets(o.dims.size(), 0);
    offsets[static_cast<std::size_t>(o.axis.value)] = o.begin.value;
    constexpr bool allow_empty = true;  // where the cut is inside of a block
    dnnl::memory::desc whole = onednn::activations(device, o.dims, request.type, request.layout);
    dnnl::memory::desc part = whole.submemory_desc(o.cut(), offsets, allow_empty);
    if (part.is_zero()) {
      whole = onednn::plain_or_nhwc_activations(device, o.dims, request.type, request.layout);
      part = whole.submemory_desc(o.cut(), offsets);
    }
    const dnnl::reorder::primitive_desc result(
        device.engine(), part, device.engine(),
        onednn::activations(device, o.cut(), request.type, request.layout), attributes());
    set_primitive(result, {DNNL_ARG_FROM, DNNL_ARG_TO}, {whole, result.dst_desc()});
    set_passed_desc(0, part);
  }

  std::optional<host::padding> padding_;  ///< of the gradient
};

static_assert(implements<onednn::backend, op::slice>);

}  // namespace layerbench
