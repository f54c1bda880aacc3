// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/embedding.hpp>

namespace layerbench::reference {

template <>
struct formula<op::embedding> {
  [[nodiscard]] static sum at(const op::embedding& o, op::pass pass, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const std::int64_t column = index % o.columns;
    if (pass == op::pass::fwd) {
      const std::int64_t row = o.row(in[0][static_cast<std::size_t>(index / o.columns)]);
      return {in[1][static_cast<std::size_t>(row * o.columns + column)]};
    }
    sum total;
    for (std::int64_t i = 0; i < o.n; ++i) {
      if (o.row(in[0][static_cast<std::size_t>(i)]) != index / o.columns) continue;
      total.add(in[1][static_cast<std::size_t>(i * o.columns + column)]);
    }
    return total;
  }
};

static_assert(implements<backend, op::embedding>);

}  // namespace layerbench::reference
