// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <layerbench/op/conv.hpp>
#include <layerbench/op/post_ops.hpp>

namespace layerbench::op {

/// Transposed convolution (deconvolution): the gradient of a convolution, as a forward pass.
/// Each source element adds its product with the filter to the destination:
/// dst[n, k, h*stride.v - pad.top + r*dilation.v, w*stride.h - pad.left + s*dilation.h] +=
///   src[n,c,h,w] * weights[k, c mod (C/groups), r, s], where c runs over the group of k; and bias.
/// Then come the post-ops. With `d` and `t` it is of volumes, which lie as those of conv.
struct deconv {
  static constexpr std::string_view name = "deconv";

  std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  pair stride{1, 1};
  pads pad{0, 0, 0, 0};
  pads output_pad{0, 0, 0, 0};
  pair dilation{1, 1};
  std::int64_t groups = 1;
  bool bias = false;
  post_ops post = {};
  std::int64_t d = 1, t = 1, depth_stride = 1;
  position depth_pad = {}, depth_output_pad = {};
  std::int64_t depth_dilation = 1;

  static constexpr auto fields = std::tuple{
      required("n", &deconv::n, "images in a batch"),
      required("c", &deconv::c, "input channels"),
      required("h", &deconv::h, "input height"),
      required("w", &deconv::w, "input width"),
      required("k", &deconv::k, "output channels (filters)"),
      required("r", &deconv::r, "filter height"),
      required("s", &deconv::s, "filter width"),
      optional("stride", &deconv::stride, "distance of source elements in the output"),
      optional("pad", &deconv::pad, "rows and columns cut off the output"),
      optional("output_pad", &deconv::output_pad, "rows and columns added below and on the right"),
      optional("dilation", &deconv::dilation, "distance of filter taps, 1 is dense"),
      optional("groups", &deconv::groups, "channel groups, c and k are multiples of it"),
      optional("bias", &deconv::bias, "whether a bias is added"),
      optional("post", &deconv::post, post_help),
      optional("d", &deconv::d, "input depth"),
      optional("t", &deconv::t, "filter depth"),
      optional("depth_stride", &deconv::depth_stride, "distance of source planes in the output"),
      optional("depth_pad", &deconv::depth_pad, "planes cut off in front and behind"),
      optional("depth_output_pad", &deconv::depth_output_pad, "planes added behind"),
      optional("depth_dilation", &deconv::depth_dilation, "distance of filter taps in depth"),
  };

  /// Whether it slides along the depth.
  [[nodiscard]] bool has_depth() const { return transposed().has_depth(); }
  /// Output depth.
  [[nodiscard]] std::int64_t z() const {
    return (d - 1) * depth_stride + depth_dilation * (t - 1) + 1 - 2 * depth_pad.value +
           depth_output_pad.value;
  }
  /// Output height.
  [[nodiscard]] std::int64_t p() const {
    return (h - 1) * stride.v + dilation.v * (r - 1) + 1 - pad.top - pad.bottom + output_pad.bottom;
  }
  /// Output width.
  [[nodiscard]] std::int64_t q() const {
    return (w - 1) * stride.h + dilation.h * (s - 1) + 1 - pad.left - pad.right + output_pad.right;
  }

  void validate() const {
    if (c % groups != 0) throw invalid_field("groups", "does not divide c");
    if (k % groups != 0) throw invalid_field("groups", "does not divide k");
    if (output_pad.top != output_pad.bottom || output_pad.left != output_pad.right) {
      throw invalid_field("output_pad", "has one vertical and one horizontal size");
    }
    if (output_pad.bottom >= stride.v || output_pad.right >= stride.h) {
      throw invalid_field("output_pad", "must be smaller than the stride");
    }
    if (depth_output_pad.value >= depth_stride) {
      throw invalid_field("depth_output_pad", "must be smaller than the stride");
    }
    if (z() < 1) throw invalid_field("depth_pad", "cuts off all of the output");
    if (p() < 1 || q() < 1) throw invalid_field("pad", "cuts off all of the output");
    op::validate(post);
  }

  [[nodiscard]] std::vector<pass> passes() const {
    return passes_with(post, {pass::fwd, pass::bwd_data, pass::bwd_weights});
  }

  /// The convolution whose gradient this is: its source is dst, its destination src.
  [[nodiscard]] conv transposed() const {
    return {.n = n,
            .c = k,
            .h = p(),
            .w = q(),
            .k = c,
            .r = r,
            .s = s,
            .stride = stride,
            .pad = pad,
            .dilation = dilation,
            .groups = groups,
            .d = z(),
            .t = t,
            .depth_stride = depth_stride,
            .depth_pad = depth_pad,
            .depth_dilation = depth_dilation};
  }

  /// src n*c*(d*h)*w, weights k*(c/groups)*(t*r)*s, bias k, addends and dst n*k*(z*p)*q; gradients
  /// alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims image{n, c, d * h, w};
    const dims filters{k, c / groups, t * r, s};
    const dims result{n, k, checked_multiply(z(), this->p()), q()};
    if (p != pass::fwd) return convolution_gradient(p, image, filters, result, bias, type);
    std::vector<operand> all{
        {"src", image, role::source, type},
        {"weights", filters, role::weights, is_integer(type) ? dtype::s8 : type}};
    // Integer convolutions add their bias in floating point, before they are rounded.
    if (bias) all.push_back({"bias", {k}, role::weights, is_integer(type) ? dtype::f32 : type});
    all.push_back({"dst", result, role::destination, type});
    // Keeps a sum of as many random products as an output has terms in range.
    const std::int64_t products = c / groups * t * r * s;
    const double taps_apart = static_cast<double>(depth_stride) * static_cast<double>(stride.v) *
                              static_cast<double>(stride.h);
    const double terms = static_cast<double>(products) / taps_apart;
    all.back().scale *= std::sqrt(std::max(1.0, terms));
    insert_addends(post, all);
    return all;
  }

  /// Those of the convolution whose gradient this is: n*c*d*h*w*(k/groups)*t*r*s MACs in each pass;
  /// `flops` counts the products that are cut off by the padding, too.
  [[nodiscard]] op::work work(pass pass) const {
    return with_post_ops(transposed().work(pass), post, {n, k, checked_multiply(z(), p()), q()});
  }
};

}  // namespace layerbench::op
