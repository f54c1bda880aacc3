// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/concat.hpp>

namespace layerbench::reference {

/// An element keeps its value; its position along the axis says which source it belongs to.
template <>
struct formula<op::concat> {
  [[nodiscard]] static sum at(const op::concat& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    std::int64_t inner = 1;  // elements per position along the axis
    for (auto i = static_cast<std::size_t>(o.axis) + 1; i < o.dims.size(); ++i) inner *= o.dims[i];
    if (pass == op::pass::bwd) {
      const std::size_t source = output - 1;
      const std::int64_t row = o.sizes[source] * inner;
      const std::int64_t from = index / row * o.extent() * inner + first(o, source) * inner;
      return {in[0][static_cast<std::size_t>(from + index % row)]};
    }
    const std::int64_t position = index / inner % o.extent();
    std::size_t source = 0;
    while (first(o, source) + o.sizes[source] <= position) ++source;
    const std::int64_t outer = index / inner / o.extent();
    const std::int64_t place = outer * o.sizes[source] + position - first(o, source);
    return {in[source][static_cast<std::size_t>(place * inner + index % inner)]};
  }

 private:
  /// Where a source begins along the axis.
  static std::int64_t first(const op::concat& o, std::size_t source) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < source; ++i) sum += o.sizes[i];
    return sum;
  }
};

static_assert(implements<backend, op::concat>);

}  // namespace layerbench::reference
