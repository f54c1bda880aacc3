// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// A copy of a tensor from one memory order to another. Orders use oneDNN's notation: letters
/// a b c d stand for the axes of `dims`, the slowest axis comes first, and a capital means an axis
/// in blocks of the numbers that follow: abcd is nchw, acdb is nhwc, aBcd16b is nChw16c.
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

/// Whether an order permutes axes and has no blocks.
[[nodiscard]] inline bool is_permutation(std::string_view order) {
  return std::ranges::all_of(order, [](char c) { return c >= 'a' && c <= 'z'; });
}

/// The row-major order: the letters of all axes in their sequence.
[[nodiscard]] inline std::string plain_order(const dims& extents) {
  std::string order;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) order += static_cast<char>('a' + axis);
  return order;
}

/// Strides, in elements, of an unblocked order that names every axis once. Throws std::out_of_range
/// for other letters.
[[nodiscard]] inline dims strides(const dims& extents, std::string_view order) {
  dims result(extents.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i] - 'a');
    result.at(axis) = stride;
    stride *= extents.at(axis);
  }
  return result;
}

/// Row-major values of a tensor, put into an unblocked order that names every axis once.
template <class Value>
[[nodiscard]] std::vector<Value> reordered(const std::vector<Value>& values, const dims& extents,
                                           std::string_view order) {
  const dims places = strides(extents, order);
  std::vector<Value> result(values.size());
  dims index(extents.size());
  for (const Value& value : values) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * places[axis];
    result[static_cast<std::size_t>(place)] = value;
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

/// `order` with the axes of extent 1 first, in alphabetical order. They could stand anywhere, so
/// equal memory layouts get equal texts.
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
