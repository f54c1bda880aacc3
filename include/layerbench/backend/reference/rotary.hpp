// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/rotary.hpp>

namespace layerbench::reference {

/// In 16 bits libraries round the products before they add them.
template <>
struct formula<op::rotary> {
  [[nodiscard]] static sum at(const op::rotary& o, op::pass pass, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    constexpr std::size_t cos = 1;
    constexpr std::size_t sin = 2;
    const std::int64_t half = o.d / 2;
    const std::int64_t i = index % o.d;
    const std::int64_t other = i < half ? half : -half;
    const std::int64_t in_table = index / (o.heads * o.d) % o.tokens * o.d + i;
    // The gradient is turned back: by the sine with which the other element took this one.
    const bool backward = pass == op::pass::bwd;
    const bool minus = backward == (i >= half);
    const double turned =
        product(in[0], index + other, in[sin], backward ? in_table + other : in_table);
    sum total;
    total.add(product(in[0], index, in[cos], in_table));
    total.add(minus ? -turned : turned);
    total.roundings = 3;
    total.rounded = std::max(std::abs(total.value), total.magnitude);
    return total;
  }
};

static_assert(implements<backend, op::rotary>);

}  // namespace layerbench::reference
