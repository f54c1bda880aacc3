// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <layerbench/backend/kernels/host/multiply.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/multiply.hpp>

namespace layerbench {

/// The library's binary primitive. Both gradients come from one loop of layerbench: the
/// library would need three primitives, and memory between them.
template <>
class plan<onednn::backend, op::multiply> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::multiply& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)), request_(request) {
    onednn::checked("multiplication", [&] {
      if (request.pass == op::pass::bwd) {
        build_bwd(device, o);
      } else {
        build_fwd(device);
      }
    });
  }

  void run(const binding& bound) const {
    if (request_.pass != op::pass::bwd) return primitive_plan::run(bound);
    with_number(request_.type, [&]<class T>(T /*tag*/) {
      gradient_->run(at<const T>(bound, 0), at<const T>(bound, 1), at<const T>(bound, 2),
                     at<T>(bound, 3), at<T>(bound, 4));
    });
  }

 private:
  void build_fwd(const onednn::backend& device) {
    std::vector<dnnl::memory::desc> stored;
    for (std::size_t i = 0; i < 3; ++i) {
      stored.push_back(onednn::activations(device, extents(i), request_.type, request_.layout));
    }
    dnnl::primitive_attr attr = attributes();
    std::vector<std::size_t> scaled;
    if (is_integer(request_.type)) {  // the product of two scales becomes one
      attr.set_scales_mask(DNNL_ARG_SRC_0, 0);
      scaled = {0};
    }
    const dnnl::binary::primitive_desc result(device.engine(), dnnl::algorithm::binary_mul,
                                              stored[0], stored[1], stored[2], attr);
    set_primitive(result, {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST}, stored, scaled);
  }

  void build_bwd(const onednn::backend& device, const op::multiply& o) {
    require_number(request_.type);
    std::vector<dnnl::memory::desc> stored;
    for (std::size_t i = 0; i < 5; ++i) {
      stored.push_back(
          onednn::plain_or_nhwc_activations(device, extents(i), request_.type, request_.layout));
    }
    set_loop(stored, host::multiply_gradient::algorithm);
    gradient_.emplace(o, stored[0].get_strides(), stored[1].get_strides());
  }

  plan_request request_;
  std::optional<host::multiply_gradient> gradient_;
};

static_assert(implements<onednn::backend, op::multiply>);

}  // namespace layerbench
