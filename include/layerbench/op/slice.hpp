// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <layerbench/op/op.hpp>
#include <layerbench/op/pad.hpp>

namespace layerbench::op {

/// dst is the positions `begin` to `begin` + `size` - 1 of src along `axis`: half of the channels
/// in a block of ShuffleNet V2, or the last step of a sequence. Pass `bwd` puts zeros around the
/// gradient of dst.
struct slice {
  static constexpr std::string_view name = "slice";

  layerbench::dims dims;
  position axis = {1};
  position begin = {0};
  std::int64_t size = 1;

  static constexpr auto fields = std::tuple{
      required("dims", &slice::dims, "extents of the source"),
      optional("axis", &slice::axis, "the axis that is cut; 1 is the one after the batch"),
      optional("begin", &slice::begin, "first position along the axis"),
      required("size", &slice::size, "extent of the destination along the axis"),
  };

  void validate() const {
    if (axis.value >= static_cast<std::int64_t>(dims.size())) {
      throw invalid_field("axis", "is not an axis of dims");
    }
    if (begin.value >= extent()) throw invalid_field("begin", "is not below the axis' extent");
    if (size > extent() - begin.value) throw invalid_field("size", "reaches past the axis' extent");
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Extent of src along the axis.
  [[nodiscard]] std::int64_t extent() const { return dims[static_cast<std::size_t>(axis.value)]; }

  /// Extents of dst.
  [[nodiscard]] layerbench::dims cut() const {
    layerbench::dims extents = dims;
    extents[static_cast<std::size_t>(axis.value)] = size;
    return extents;
  }

  /// The padding whose gradient the slice is: each is the other's gradient.
  [[nodiscard]] pad padding() const {
    const layerbench::dims none(dims.size(), 0);
    pad result{cut(), {none}, {none}};
    result.before.sizes[static_cast<std::size_t>(axis.value)] = begin.value;
    result.after.sizes[static_cast<std::size_t>(axis.value)] = extent() - begin.value - size;
    return result;
  }

  /// src of extents dims, dst of extents dims but for `size` along the axis; gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    if (p == pass::bwd) {
      return {{"diff_dst", cut(), role::source, type}, {"diff_src", dims, role::destination, type}};
    }
    return {{"src", dims, role::source, type}, {"dst", cut(), role::destination, type}};
  }

  /// A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    static_cast<void>(elements(dims));
    return {0, 0, 0};
  }
};

}  // namespace layerbench::op
