// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <layerbench/backend/cblas/backend.hpp>
#include <layerbench/backend/kernels/host/rows.hpp>
#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench::cblas {

/// Convolutions of 1x1 without stride and padding as products of filters and pixels, without packed
/// weights: in nchw a product for each image and group, as PyTorch's slow_conv2d was seen to call
/// MKL; in nhwc one for each group. In f32, and only where a step of another backend asks for this
/// one.
class conv : public host::call_plan {
 public:
  [[nodiscard]] static bool is_for(const op::any& op) { return !op.backend().empty(); }

  conv(const backend& device, const op::conv& o, const plan_request& request)
      : call_plan("", o.operands(request.pass, request.type), request.layout),
        library_(device.library()),
        by_image_(request.layout == layout::nchw),
        has_bias_(o.bias),
        images_(by_image_ ? o.n : 1),
        groups_(o.groups),
        pixels_(static_cast<int>((by_image_ ? 1 : o.n) * o.h * o.w)),
        c_(static_cast<int>(o.c / o.groups)),
        k_(static_cast<int>(o.k / o.groups)) {
    if (o.has_depth() || o.r != 1 || o.s != 1 || o.stride != pair{1, 1} ||
        o.pad != pads{0, 0, 0, 0})
      throw unsupported("only convolutions of 1x1 without stride and padding are products");
    require_size((by_image_ ? 1 : o.n) * o.h * o.w * std::max(o.c, o.k));
    if (request.pass != op::pass::fwd || request.type != dtype::f32)
      throw unsupported("convolutions as products are for inference in f32");
    const char* const bias = by_image_ ? host::bias_images_name : host::bias_rows_name;
    const char* const loop = images_ * groups_ > 1 ? "loop_of_" : "";
    set_algorithm(fmt::format("{}{}cblas_sgemm", has_bias_ ? fmt::format("{}+", bias) : "", loop));
  }

  void run(const binding& bound) const {
    auto* const dst = at<float>(bound, has_bias_ ? 3 : 2);
    if (has_bias_ && by_image_) {
      host::bias_images(images_, groups_ * k_, pixels_, at<float>(bound, 2), dst);
    } else if (has_bias_) {
      host::bias_rows(pixels_, groups_ * k_, at<float>(bound, 2), dst);
    }
    const float beta = has_bias_ ? 1 : 0;
    for (std::int64_t i = 0; i < images_ * groups_; ++i) {
      const float* const filters = at<float>(bound, 1) + i % groups_ * k_ * c_;
      if (by_image_) {
        library_.product(row_major, not_transposed, not_transposed, k_, pixels_, c_, 1, filters, c_,
                         at<float>(bound, 0) + i * c_ * pixels_, pixels_, beta,
                         dst + i * k_ * pixels_, pixels_);
      } else {
        library_.product(row_major, not_transposed, transposed, pixels_, k_, c_, 1,
                         at<float>(bound, 0) + i * c_, c_ * static_cast<int>(groups_), filters, c_,
                         beta, dst + i * k_, k_ * static_cast<int>(groups_));
      }
    }
  }

 private:
  const functions& library_;
  bool by_image_;
  bool has_bias_;
  std::int64_t images_, groups_;
  int pixels_, c_, k_;  ///< of a product
};

}  // namespace layerbench::cblas
