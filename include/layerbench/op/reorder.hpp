// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// A copy of a tensor from one memory order to another; the type stays. Orders use oneDNN's
/// notation: letters a b c d stand for the axes of `dims`, the slowest axis comes first, and a
/// capital means an axis in blocks of the numbers that follow: abcd is nchw, acdb is nhwc, aBcd16b
/// is nChw16c.
struct reorder {
  static constexpr std::string_view name = "reorder";

  layerbench::dims dims;
  std::string from;
  std::string to;

  static constexpr auto fields = std::tuple{
      required("dims", &reorder::dims, "extents of the tensor"),
      required("from", &reorder::from, "memory order of the source, such as abcd"),
      required("to", &reorder::to, "memory order of the destination, such as acdb"),
  };

  void validate() const {
    check("from", from);
    check("to", to);
  }

  /// src and dst of extents dims.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    return {{"src", dims, role::source, type}, {"dst", dims, role::destination, type}};
  }

  /// A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    static_cast<void>(elements(dims));
    return {0, 0, 0};
  }

 private:
  void check(std::string_view field_name, const std::string& order) const {
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const char lower = static_cast<char>('a' + axis);
      const char upper = static_cast<char>('A' + axis);
      // A blocked axis has two letters: a capital, and a lower-case one behind its block size.
      if (order.find(lower) == std::string::npos && order.find(upper) == std::string::npos) {
        throw invalid_field(field_name, std::string("has no letter '") + lower + "' for axis " +
                                            std::to_string(axis) + " of dims");
      }
    }
  }
};

}  // namespace layerbench::op
