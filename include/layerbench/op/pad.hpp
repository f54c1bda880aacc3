// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst is src with zeros before and behind each axis: the shortcut of a residual block that has
/// more channels (He et al., CVPR 2016, option A). Pass `bwd` takes the slice of the gradient of
/// dst where src lies.
struct pad {
  static constexpr std::string_view name = "pad";

  layerbench::dims dims;
  margins before;
  margins after;

  static constexpr auto fields = std::tuple{
      required("dims", &pad::dims, "extents of the source"),
      required("before", &pad::before, "zeros before each axis"),
      required("after", &pad::after, "zeros behind each axis"),
  };

  void validate() const {
    if (before.sizes.size() != dims.size()) {
      throw invalid_field("before", "has not as many sizes as dims");
    }
    if (after.sizes.size() != dims.size()) {
      throw invalid_field("after", "has not as many sizes as dims");
    }
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Extents of dst.
  [[nodiscard]] layerbench::dims padded() const {
    layerbench::dims extents;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      extents.push_back(before.sizes[i] + dims[i] + after.sizes[i]);
    }
    return extents;
  }

  /// src of extents dims, dst of extents before + dims + after; gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    if (p == pass::bwd) {
      return {{"diff_dst", padded(), role::source, type},
              {"diff_src", dims, role::destination, type}};
    }
    return {{"src", dims, role::source, type}, {"dst", padded(), role::destination, type}};
  }

  /// A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    static_cast<void>(elements(padded()));
    return {0, 0, 0};
  }
};

}  // namespace layerbench::op
