// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst = exp(src - m) / sum of exp(src - m) along `axis`, m being the largest src along it.
struct softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr bool overwrites_source = true;

  layerbench::dims dims;
  std::int64_t axis = 1;

  static constexpr auto fields = std::tuple{
      required("dims", &softmax::dims, "extents of the tensor"),
      optional("axis", &softmax::axis, "axis that sums to 1; 1 is the one after the batch"),
  };

  void validate() const {
    if (axis < 1 || axis >= static_cast<std::int64_t>(dims.size())) {
      throw invalid_field("axis", "is not an axis of dims after the first");
    }
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// src and dst of extents dims, gradients alike; `bwd` reads dst.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    if (p == pass::bwd) {
      return {{"dst", dims, role::source, type, 0, 1},
              {"diff_dst", dims, role::source, type},
              {"diff_src", dims, role::destination, type}};
    }
    return {{"src", dims, role::source, type}, {"dst", dims, role::destination, type}};
  }

  /// Five operations per element: maximum, difference, exponential, sum, quotient; `bwd` has four:
  /// two of an inner product, difference, product.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t flops = checked_multiply(p == pass::bwd ? 4 : 5, elements(dims));
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
