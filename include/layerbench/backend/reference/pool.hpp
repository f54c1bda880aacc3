// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench::reference {

template <>
struct formula<op::pool> {
  [[nodiscard]] static sum at(const op::pool& o, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const std::int64_t top = index / o.q() % o.p() * o.stride.v - o.pad.top;
    const std::int64_t left = index % o.q() * o.stride.h - o.pad.left;
    const std::int64_t plane = index / (o.q() * o.p()) * o.h * o.w;
    const std::int64_t bottom = std::min(top + o.r, o.h);
    const std::int64_t right = std::min(left + o.s, o.w);
    double largest = -std::numeric_limits<double>::infinity();
    sum total;
    for (std::int64_t y = std::max<std::int64_t>(top, 0); y < bottom; ++y) {
      for (std::int64_t x = std::max<std::int64_t>(left, 0); x < right; ++x) {
        const double value = in[0][static_cast<std::size_t>(plane + y * o.w + x)];
        largest = std::max(largest, value);
        total.add(value);
      }
    }
    if (o.kind == op::pool_kind::max) return {largest, 0, 0, 0, 1};  // a maximum is exact
    double divisor = static_cast<double>(total.terms);
    if (o.count_padding) {
      divisor = static_cast<double>((std::min(top + o.r, o.h + o.pad.bottom) - top) *
                                    (std::min(left + o.s, o.w + o.pad.right) - left));
    }
    return {total.value / divisor, total.magnitude / divisor, total.squares / (divisor * divisor),
            total.terms, 1};
  }
};

static_assert(implements<backend, op::pool>);

}  // namespace layerbench::reference
