// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/kernels/host/sums.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench {

/// The library's binary primitive. The sum over the batch is a loop of layerbench: the library's
/// reductions are fast along the last axis only.
template <>
class plan<onednn::backend, op::add> : public onednn::primitive_plan {
 public:
  static constexpr bool has_post_ops = true;

  plan(const onednn::backend& device, const op::add& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)), o_(o), request_(request) {
    if (request.pass == op::pass::bwd) {
      require_number(request.type);
      const auto stored = [&](std::size_t i) {
        return onednn::plain_or_nhwc_activations(device, extents(i), request.type, request.layout);
      };
      set_loop({stored(0), stored(1)}, host::column_sums_name);
      return;
    }
    const auto is_relu = [](op::post_op p) { return p == op::post_op::relu; };
    if (is_integer(request.type) && !std::ranges::all_of(o.post, is_relu)) {
      throw unsupported("oneDNN adds integers without scales, so no post-op but relu is right");
    }
    using namespace dnnl;
    onednn::checked("addition", [&] {
      const memory::desc tensor =
          onednn::activations(device, extents(0), request.type, request.layout);
      const memory::desc addend =
          onednn::activations(device, extents(1), request.type, request.layout);
      const binary::primitive_desc result(device.engine(), dnnl::algorithm::binary_add, tensor,
                                          addend, tensor, attributes(o.post, tensor));
      set_primitive(result, {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST},
                    {tensor, addend, tensor}, o.post);
    });
  }

  void run(const binding& bound) const {
    if (request_.pass != op::pass::bwd) return primitive_plan::run(bound);
    // The batch is the slowest axis in every order.
    const std::int64_t image = elements(o_.addends());
    with_number(request_.type, [&]<class T>(T /*tag*/) {
      host::column_sums<256>(elements(o_.dims) / image, image, at<const T>(bound, 0),
                             at<T>(bound, 1));
    });
  }

 private:
  op::add o_;
  plan_request request_;
};

static_assert(implements<onednn::backend, op::add>);

}  // namespace layerbench
