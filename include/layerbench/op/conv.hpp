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

/// Convolution (cross-correlation, as in all deep-learning libraries):
/// dst[n,k,p,q] = bias[k] + sum over c,r,s of
///   src[n, c, p*stride.v - pad.top + r*dilation.v, q*stride.h - pad.left + s*dilation.h] *
///   weights[k, c mod (C/groups), r, s], where c runs over the group of k.
/// Then come the post-ops. In integers the products are exact, and everything after them is
/// computed in f32.
///
/// With `d` and `t` the filter also slides along the depth of a volume, in the same way. Operands
/// have the planes of volumes and filters one below the other: n*c*(d*h)*w lies in memory as
/// n*c*d*h*w does, and is an image to the ops around.
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
  std::int64_t d = 1, t = 1, depth_stride = 1;
  position depth_pad = {};
  std::int64_t depth_dilation = 1;

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
      optional("d", &conv::d, "input depth"),
      optional("t", &conv::t, "filter depth"),
      optional("depth_stride", &conv::depth_stride, "step of the filter in depth"),
      optional("depth_pad", &conv::depth_pad, "zero planes in front and behind"),
      optional("depth_dilation", &conv::depth_dilation, "distance of filter taps in depth"),
  };

  /// Whether it slides along the depth.
  [[nodiscard]] bool has_depth() const { return d > 1 || t > 1 || depth_pad.value > 0; }
  /// Output depth.
  [[nodiscard]] std::int64_t z() const {
    return window_outputs(d, 2 * depth_pad.value, depth_dilation * (t - 1) + 1, depth_stride);
  }
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
    if (z() < 1) throw invalid_field("t", "is larger than the padded input depth");
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

  /// src n*c*(d*h)*w, weights k*(c/groups)*(t*r)*s, bias k, addends and dst n*k*(z*p)*q; gradients
  /// alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims image{n, c, d * h, w};
    const dims filters{k, c / groups, t * r, s};
    const dims result{n, k, checked_multiply(z(), this->p()), q()};
    if (p != pass::fwd) return convolution_gradient(p, image, filters, result, bias, type);
    const std::int64_t depth = c / groups * t * r * s;
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
    for (std::int64_t tap = 0; tap < t; ++tap) {
      const std::int64_t front = depth_pad.value - tap * depth_dilation;
      if (window_taps(d, front, 1, 1, depth_stride, z()) == 0) return false;
    }
    for (std::int64_t tap = 0; tap < r; ++tap) {
      if (window_taps(h, pad.top - tap * dilation.v, 1, 1, stride.v, p()) == 0) return false;
    }
    for (std::int64_t tap = 0; tap < s; ++tap) {
      if (window_taps(w, pad.left - tap * dilation.h, 1, 1, stride.h, q()) == 0) return false;
    }
    return true;
  }

  /// MACs: n*k*z*p*q*(c/groups)*t*r*s in each pass; the bias is not counted, as in published model
  /// totals.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t per_tap = checked_product({n, k, c / groups});
    const std::int64_t macs = checked_product({per_tap, z(), p(), q(), t, r, s});
    const std::int64_t deep = window_taps(d, depth_pad.value, t, depth_dilation, depth_stride, z());
    const std::int64_t vertical = window_taps(h, pad.top, r, dilation.v, stride.v, p());
    const std::int64_t horizontal = window_taps(w, pad.left, s, dilation.h, stride.h, q());
    const op::work products{macs, checked_multiply(2, macs),
                            2 * checked_product({per_tap, deep, vertical, horizontal})};
    return with_post_ops(products, post, {n, k, checked_multiply(z(), p()), q()});
  }
};

}  // namespace layerbench::op
