// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// A softmax over classes, and the loss that classification trains by: the mean over images of
/// -log(dst[label]) (Goodfellow, Bengio and Courville, Deep Learning, 6.2.2.3). Pass `bwd`
/// computes the gradient of the loss, (dst - 1 at the label) / n.
struct cross_entropy {
  static constexpr std::string_view name = "cross_entropy";

  std::int64_t n = 1, c = 1;

  static constexpr auto fields = std::tuple{
      required("n", &cross_entropy::n, "images in a batch"),
      required("c", &cross_entropy::c, "classes"),
  };

  static constexpr float min_probability = 1e-38F;  ///< of a class, so that no loss is infinite

  void validate() const {}

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// src and dst n*c, target n (the label of each image, rounded down), loss 1, diff_src n*c.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    operand target{"target", {n}, role::source, dtype::f32, 0, static_cast<double>(c)};
    target.range_required = true;
    if (p == pass::bwd) {
      return {{"dst", {n, c}, role::source, type, 0, 1},
              target,
              {"diff_src", {n, c}, role::destination, type}};
    }
    return {{"src", {n, c}, role::source, type},
            target,
            {"dst", {n, c}, role::destination, type},
            {"loss", {1}, role::destination, type}};
  }

  /// The label that a target encodes.
  [[nodiscard]] std::int64_t label_of(float target) const {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(target), 0, c - 1);
  }

  /// Five operations per element, as in a softmax, and two per image; `bwd` has two per element.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t values = checked_product({n, c});
    const std::int64_t flops = p == pass::bwd ? checked_multiply(2, values)
                                              : checked_add(checked_multiply(5, values), 2 * n);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
