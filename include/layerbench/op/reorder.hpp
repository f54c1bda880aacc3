// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// A copy of a tensor from one memory order to another. Orders are written as in oneDNN: letters
/// a b c d from the outermost axis of `dims` to the last, slowest first, capitals for axes that
/// are blocked by the numbers that follow: abcd is nchw, acdb is nhwc, aBcd16b is nChw16c.
struct reorder {
  static constexpr std::string_view name = "reorder";
  static constexpr op::storage storage = op::storage::own;

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
      // A blocked axis shows up twice: as a capital, and in lower case behind its block size.
      if (order.find(lower) == std::string::npos && order.find(upper) == std::string::npos) {
        throw invalid_field(field_name,
                            fmt::format("has no letter '{}' for axis {} of dims", lower, axis));
      }
    }
  }
};

/// Letters of all axes in order: what is row-major.
[[nodiscard]] inline std::string plain_order(const dims& extents) {
  std::string order;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) order += static_cast<char>('a' + axis);
  return order;
}

/// `order` with the axes of one element first, since they could stand anywhere: orders that are the
/// same in memory get the same text.
[[nodiscard]] inline std::string canonical_order(const dims& extents, std::string order) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto is_single = [&](char c) {
    const auto axis = static_cast<std::size_t>(std::tolower(c) - 'a');
    return axis < extents.size() && extents[axis] == 1;
  };
  const auto others =
      std::stable_partition(order.begin(), std::ranges::find_if_not(order, is_letter), is_single);
  std::sort(order.begin(), others,
            [](char a, char b) { return std::tolower(a) < std::tolower(b); });
  return order;
}

}  // namespace layerbench::op
