// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class pool_kind { max, average };

[[nodiscard]] constexpr std::array<std::string_view, 2> list_names(pool_kind /*tag*/) {
  return {"max", "average"};
}

/// Pooling over r*s windows. Padding never wins a maximum; in an average it counts as zeros when
/// `count_padding`, else the divisor is the number of taps on the image. `ceil` rounds the output
/// size up, without windows that would start past the image and its leading padding (PyTorch's
/// rule); what such a window reaches beyond the padding is never counted. With `d` and `t` windows
/// are t*r*s, of volumes that lie as those of conv.
struct pool {
  static constexpr std::string_view name = "pool";

  pool_kind kind = pool_kind::max;
  std::int64_t n = 1, c = 1, h = 1, w = 1, r = 1, s = 1;
  pair stride{1, 1};
  pads pad{0, 0, 0, 0};
  bool ceil = false;
  bool count_padding = true;
  std::int64_t d = 1, t = 1, depth_stride = 1;
  position depth_pad = {};

  static constexpr auto fields = std::tuple{
      required("kind", &pool::kind, "max or average"),
      required("n", &pool::n, "images in a batch"),
      required("c", &pool::c, "channels"),
      required("h", &pool::h, "input height"),
      required("w", &pool::w, "input width"),
      required("r", &pool::r, "window height"),
      required("s", &pool::s, "window width"),
      required("stride", &pool::stride, "step of the window"),
      optional("pad", &pool::pad, "padding"),
      optional("ceil", &pool::ceil, "whether the output size is rounded up"),
      optional("count_padding", &pool::count_padding, "whether an average counts padding"),
      optional("d", &pool::d, "input depth"),
      optional("t", &pool::t, "window depth"),
      optional("depth_stride", &pool::depth_stride, "step of the window in depth"),
      optional("depth_pad", &pool::depth_pad, "padding in front and behind"),
  };

  /// Whether it slides along the depth.
  [[nodiscard]] bool has_depth() const { return d > 1 || t > 1; }
  /// Output depth.
  [[nodiscard]] std::int64_t z() const {
    return outputs(d, depth_pad.value, depth_pad.value, t, depth_stride);
  }
  /// Output height.
  [[nodiscard]] std::int64_t p() const { return outputs(h, pad.top, pad.bottom, r, stride.v); }
  /// Output width.
  [[nodiscard]] std::int64_t q() const { return outputs(w, pad.left, pad.right, s, stride.h); }

  void validate() const {
    if (z() < 1) throw invalid_field("t", "is larger than the padded input depth");
    if (p() < 1) throw invalid_field("r", "is larger than the padded input height");
    if (q() < 1) throw invalid_field("s", "is larger than the padded input width");
    if (depth_pad.value >= t) throw invalid_field("depth_pad", "must be smaller than the window");
    // A window wholly inside the padding would have no maximum and no divisor.
    if (pad.top >= r || pad.bottom >= r || pad.left >= s || pad.right >= s) {
      throw invalid_field("pad", "must be smaller than the window");
    }
    if (!count_padding && kind == pool_kind::max) {
      throw invalid_field("count_padding", "is for averages only; leave it out of a maximum");
    }
  }

  [[nodiscard]] std::vector<pass> passes() const {
    if (kind == pool_kind::average) return {pass::fwd, pass::bwd};
    constexpr std::int64_t most_taps = 128;  // that one byte of a workspace can tell apart
    if (std::max({t, r, s}) > most_taps || t * r * s > most_taps) return {pass::fwd};
    return {pass::fwd, pass::fwd_training, pass::bwd};
  }

  /// src n*c*(d*h)*w, dst n*c*(z*p)*q, gradients alike. Max pooling in training also has a
  /// workspace like dst of argmax indices: the first tap (plane*r + y)*s + x of the window with the
  /// maximum, counted from the corner of the window in the padding.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims input{n, c, d * h, w};
    const dims output{n, c, checked_multiply(z(), this->p()), q()};
    const auto workspace = [&](role used_as) {
      const auto last = static_cast<double>(t * r * s - 1);
      return operand{"workspace", output, used_as, dtype::s8, 0, last, 1, true};
    };
    std::vector<operand> all;
    if (p == pass::bwd) {
      all = {{"diff_dst", output, role::source, type}};
      if (kind == pool_kind::max) all.push_back(workspace(role::source));
      all.push_back({"diff_src", input, role::destination, type});
    } else {
      all = {{"src", input, role::source, type}, {"dst", output, role::destination, type}};
      if (p == pass::fwd_training) all.push_back(workspace(role::destination));
    }
    return all;
  }

  /// One operation (comparison or addition) per tap; gradients of maxima have one per output.
  [[nodiscard]] op::work work(pass pass) const {
    if (pass == pass::bwd && kind == pool_kind::max) {
      const std::int64_t flops = checked_product({n, c, z(), p(), q()});
      return {0, flops, flops};
    }
    const std::int64_t deep = window_taps(d, depth_pad.value, t, 1, depth_stride, z());
    const std::int64_t vertical = window_taps(h, pad.top, r, 1, stride.v, p());
    const std::int64_t horizontal = window_taps(w, pad.left, s, 1, stride.h, q());
    return {0, checked_product({n, c, z(), p(), q(), t, r, s}),
            checked_product({n, c, deep, vertical, horizontal})};
  }

 private:
  [[nodiscard]] std::int64_t outputs(std::int64_t size, std::int64_t before, std::int64_t after,
                                     std::int64_t window, std::int64_t step) const {
    const std::int64_t count = window_outputs(size, before + after, window, step, ceil);
    return ceil && (count - 1) * step >= size + before ? count - 1 : count;
  }
};

}  // namespace layerbench::op
