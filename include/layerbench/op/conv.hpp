// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/op/post_ops.hpp>
#include <layerbench/op/quantization_fields.hpp>

namespace layerbench::op {

/// Operands of bwd_data or bwd_weights of a convolution from `image` to `result` (n*k*p*q).
[[nodiscard]] inline std::vector<operand> convolution_gradient(pass p, const dims& image,
                                                               const dims& filters,
                                                               const dims& result, bool bias,
                                                               dtype type) {
  const operand diff_dst{"diff_dst", result, role::source, type};
  if (p == pass::bwd_data) {
    return {diff_dst,
            {"weights", filters, role::weights, type},
            {"diff_src", image, role::destination, type}};
  }
  std::vector<operand> all{{"src", image, role::source, type},
                           diff_dst,
                           {"diff_weights", filters, role::destination, type}};
  if (bias) all.push_back({"diff_bias", {result[1]}, role::destination, type});
  return all;
}

/// 2-D convolution (cross-correlation, as in all deep-learning libraries):
/// dst[n,k,p,q] = bias[k] + sum over c,r,s of
///   src[n, c, p*stride.v - pad.top + r*dilation.v, q*stride.h - pad.left + s*dilation.h] *
///   weights[k, c mod (C/groups), r, s], where c runs over the group of k.
/// Then come the post-ops. In integers the products are exact, and everything after them is
/// computed in f32.
struct conv {
  static constexpr std::string_view name = "conv";

  std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  pair stride{1, 1};
  pads pad{0, 0, 0, 0};
  pair dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = false;
  post_ops post = {};
  tensor_type dst_type = tensor_type::same, addend_type = tensor_type::same;
  bool channel_scales = false;
  position src_zero = {}, dst_zero = {};

  static constexpr auto fields = std::tuple{
      required("n", &conv::n, "images in a batch"),
      required("c", &conv::c, "input channels"),
      required("h", &conv::h, "input height"),
      required("w", &conv::w, "input width"),
      required("k", &conv::k, "output channels (filters)"),
      required("r", &conv::r, "filter height"),
      required("s", &conv::s, "filter width"),
      optional("stride", &conv::stride, "step of the filter"),
      optional("pad", &conv::pad, "zero padding"),
      optional("dilation", &conv::dilation, "distance of filter taps, 1 is dense"),
      optional("groups", &conv::groups, "channel groups, c and k are multiples of it"),
      optional("bias", &conv::bias, "whether a bias is added"),
      optional("post", &conv::post, post_help),
      optional("dst_type", &conv::dst_type, dst_type_help),
      optional("addend_type", &conv::addend_type, addend_type_help),
      optional("channel_scales", &conv::channel_scales, channel_scales_help),
      optional("src_zero", &conv::src_zero, src_zero_help),
      optional("dst_zero", &conv::dst_zero, dst_zero_help),
  };

  /// Output height.
  [[nodiscard]] std::int64_t p() const {
    return window_outputs(h, pad.top + pad.bottom, dilation.v * (r - 1) + 1, stride.v);
  }
  /// Output width.
  [[nodiscard]] std::int64_t q() const {
    return window_outputs(w, pad.left + pad.right, dilation.h * (s - 1) + 1, stride.h);
  }

  void validate() const {
    if (c % groups != 0) throw invalid_field("groups", "does not divide c");
    if (k % groups != 0) throw invalid_field("groups", "does not divide k");
    if (p() < 1) throw invalid_field("r", "is larger than the padded input height");
    if (q() < 1) throw invalid_field("s", "is larger than the padded input width");
    op::validate(post);
    validate_quantization(*this);
  }

  [[nodiscard]] std::vector<manner> manners() const {
    if (!post.empty() || is_quantized(*this)) return {};
    return {manner::reorders};
  }

  [[nodiscard]] std::vector<pass> passes() const {
    return passes_with(post, {pass::fwd, pass::bwd_data, pass::bwd_weights});
  }

  /// src n*c*h*w, weights k*(c/groups)*r*s, bias k, addends and dst n*k*p*q; gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims image{n, c, h, w};
    const dims filters{k, c / groups, r, s};
    const dims result{n, k, this->p(), q()};
    if (p != pass::fwd) return convolution_gradient(p, image, filters, result, bias, type);
    const std::int64_t depth = c / groups * r * s;
    std::vector<operand> all{{"src", image, role::source, type},
                             {"weights", filters, role::weights, type}};
    if (bias) all.push_back({"bias", {k}, role::weights, type});
    all.push_back({"dst", result, role::destination, type});
    all.back().scale *=
        std::sqrt(static_cast<double>(depth));  // keeps a sum of `depth` random products in range
    quantize_operands(*this, 0, all);
    return all;
  }

  /// Whether each filter tap overlaps the image, rather than only padding, at some output.
  [[nodiscard]] bool all_taps_overlap_image() const {
    for (std::int64_t tap = 0; tap < r; ++tap) {
      if (window_taps(h, pad.top - tap * dilation.v, 1, 1, stride.v, p()) == 0) return false;
    }
    for (std::int64_t tap = 0; tap < s; ++tap) {
      if (window_taps(w, pad.left - tap * dilation.h, 1, 1, stride.h, q()) == 0) return false;
    }
    return true;
  }

  /// MACs: n*k*p*q*(c/groups)*r*s in each pass; the bias is not counted, as in published model
  /// totals.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t per_tap = checked_product({n, k, c / groups});
    const std::int64_t macs = checked_product({per_tap, p(), q(), r, s});
    const std::int64_t vertical = window_taps(h, pad.top, r, dilation.v, stride.v, p());
    const std::int64_t horizontal = window_taps(w, pad.left, s, dilation.h, stride.h, q());
    const op::work products{macs, checked_multiply(2, macs),
                            2 * checked_product({per_tap, vertical, horizontal})};
    return with_post_ops(products, post, {n, k, p(), q()});
  }
};

}  // namespace layerbench::op
