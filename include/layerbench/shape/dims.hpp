// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace layerbench {

/// Extents of a tensor, outermost first: {n, c, h, w}, {m, k}.
using dims = std::vector<std::int64_t>;

/// A vertical and a horizontal value: strides, dilations.
struct pair {
  std::int64_t v;
  std::int64_t h;
  friend bool operator==(const pair&, const pair&) = default;
};

/// Padding on the four sides of an image.
struct pads {
  std::int64_t top;
  std::int64_t bottom;
  std::int64_t left;
  std::int64_t right;
  friend bool operator==(const pads&, const pads&) = default;
};

/// Sizes along the axes of a tensor that may be 0, outermost first.
struct margins {
  dims sizes;
  friend bool operator==(const margins&, const margins&) = default;
};

/// The number of an axis, or a position along one: from 0 on.
struct position {
  std::int64_t value;
  friend bool operator==(const position&, const position&) = default;
};

/// Largest accepted size. The vendor libraries count in 32 bits.
inline constexpr std::int64_t max_size = INT32_MAX;

/// a * b. Throws std::overflow_error past 2^63 - 1.
[[nodiscard]] inline std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw std::overflow_error("the product of sizes exceeds 2^63 - 1");
  }
  return product;
}

/// a + b. Throws std::overflow_error past 2^63 - 1.
[[nodiscard]] inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw std::overflow_error("the sum of sizes exceeds 2^63 - 1");
  }
  return sum;
}

/// Product of all factors. Throws std::overflow_error past 2^63 - 1.
[[nodiscard]] inline std::int64_t checked_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) product = checked_multiply(product, factor);
  return product;
}

/// Number of elements of a tensor with these extents. Throws std::overflow_error past 2^63 - 1.
[[nodiscard]] inline std::int64_t elements(const dims& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product = checked_multiply(product, extent);
  return product;
}

/// The sizes with `separator` between them: "32x3x224x224".
[[nodiscard]] inline std::string joined(const dims& sizes, std::string_view separator) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += separator;
    text += std::to_string(size);
  }
  return text;
}

}  // namespace layerbench
