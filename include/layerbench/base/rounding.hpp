// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace layerbench {

/// How many pieces of `size` hold a `value` of at least 0; the last piece may be smaller.
template <class Integer>
[[nodiscard]] constexpr Integer ceil_div(Integer value, std::type_identity_t<Integer> size) {
  return (value + size - 1) / size;
}

/// The smallest multiple that holds a `value` of at least 0.
template <class Integer>
[[nodiscard]] constexpr Integer rounded_up(Integer value, std::type_identity_t<Integer> multiple) {
  return ceil_div(value, multiple) * multiple;
}

}  // namespace layerbench
