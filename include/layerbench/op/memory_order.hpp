// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/base/rounding.hpp>
#include <layerbench/shape/dims.hpp>

/// Memory orders as texts, in the notation of op::reorder: letters of axes, the slowest first.
namespace layerbench::op {

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

/// Elements of a tensor in memory: axes in blocks are filled up to whole ones.
[[nodiscard]] inline std::int64_t stored_elements(dims extents, std::string_view order) {
  dims blocks(extents.size(), 1);
  std::int64_t block = 0;
  for (const char c : order) {
    if (c >= '0' && c <= '9') {
      block = 10 * block + (c - '0');
    } else if (block > 0) {
      blocks.at(static_cast<std::size_t>(c - 'a')) *= std::exchange(block, 0);
    }
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    extents[axis] = rounded_up(extents[axis], blocks[axis]);
  }
  return elements(extents);
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
