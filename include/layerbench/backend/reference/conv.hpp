// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/conv.hpp>

namespace layerbench::reference {

template <>
struct formula<op::conv> {
  [[nodiscard]] static sum at(const op::conv& o, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const std::int64_t q = index % o.q();
    const std::int64_t p = index / o.q() % o.p();
    const std::int64_t k = index / (o.q() * o.p()) % o.k;
    const std::int64_t n = index / (o.q() * o.p() * o.k);
    const std::int64_t depth = o.c / o.groups;
    const std::int64_t first_channel = k / (o.k / o.groups) * depth;
    sum total;
    for (std::int64_t c = 0; c < depth; ++c) {
      for (std::int64_t r = 0; r < o.r; ++r) {
        const std::int64_t y = p * o.stride.v - o.pad.top + r * o.dilation.v;
        if (y < 0 || y >= o.h) continue;
        for (std::int64_t s = 0; s < o.s; ++s) {
          const std::int64_t x = q * o.stride.h - o.pad.left + s * o.dilation.h;
          if (x < 0 || x >= o.w) continue;
          const std::int64_t source = ((n * o.c + first_channel + c) * o.h + y) * o.w + x;
          const std::int64_t weight = ((k * depth + c) * o.r + r) * o.s + s;
          total.add(static_cast<double>(in[0][static_cast<std::size_t>(source)]) *
                    in[1][static_cast<std::size_t>(weight)]);
        }
      }
    }
    if (o.bias) total.add(in[2][static_cast<std::size_t>(k)]);
    return total;
  }
};

static_assert(implements<backend, op::conv>);

}  // namespace layerbench::reference
