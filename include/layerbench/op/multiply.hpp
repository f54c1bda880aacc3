// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst = src * src1, element by element. src1 is broadcast along the axes where its extent is 1, as
/// in squeeze-and-excitation (Hu et al., CVPR 2018), where it is one factor per image and channel.
/// With `learned` src1 is learned, as in ConvNeXt's layer scale (Liu et al., CVPR 2022), where it
/// is one factor per channel.
struct multiply {
  static constexpr std::string_view name = "multiply";

  layerbench::dims dims;
  layerbench::dims dims1;
  bool learned = false;

  static constexpr auto fields = std::tuple{
      required("dims", &multiply::dims, "extents of src and dst"),
      optional("dims1", &multiply::dims1, "extents of src1, each that of dims or 1 [dims]"),
      optional("learned", &multiply::learned, "whether src1 is learned"),
  };

  void validate() const {
    if (factors().size() != dims.size()) {
      throw invalid_field("dims1", "has not as many extents as dims");
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (factors()[i] != dims[i] && factors()[i] != 1) {
        throw invalid_field("dims1", "has an extent that is neither 1 nor that of dims");
      }
    }
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Extents of src1.
  [[nodiscard]] const layerbench::dims& factors() const { return dims1.empty() ? dims : dims1; }

  /// Whether src1 is broadcast along an axis.
  [[nodiscard]] bool is_broadcast(std::size_t axis) const { return factors()[axis] != dims[axis]; }

  /// src and dst of extents dims, src1 of extents dims1; gradients alike. `bwd` reads both sources.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    std::vector<operand> all{{"src", dims, role::source, type},
                             {"src1", factors(), learned ? role::weights : role::source, type}};
    if (p == pass::bwd) {
      all.push_back({"diff_dst", dims, role::source, type});
      all.push_back({"diff_src", dims, role::destination, type});
      all.push_back({"diff_src1", factors(), role::destination, type});
    } else {
      all.push_back({"dst", dims, role::destination, type});
    }
    return all;
  }

  /// One multiplication per element; `bwd` has two, and an addition where src1 is broadcast.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t an_element = p != pass::bwd ? 1 : factors() == dims ? 2 : 3;
    const std::int64_t flops = checked_multiply(an_element, elements(dims));
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
