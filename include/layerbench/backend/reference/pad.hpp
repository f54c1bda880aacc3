// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/pad.hpp>

namespace layerbench::reference {

/// An element keeps its value; there are zeros around the source.
template <>
struct formula<op::pad> {
  [[nodiscard]] static sum at(const op::pad& o, op::pass pass, tensors in, std::size_t /*output*/,
                              std::int64_t index) {
    const bool backward = pass == op::pass::bwd;
    const dims padded = o.padded();
    const dims& to = backward ? o.dims : padded;
    const dims& from = backward ? padded : o.dims;
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t axis = to.size(); axis-- > 0; index /= to[axis]) {
      const std::int64_t before = o.before.sizes[axis];
      const std::int64_t at = index % to[axis] + (backward ? before : -before);
      if (at < 0 || at >= from[axis]) return {};
      place += at * step;
      step *= from[axis];
    }
    return {in[0][static_cast<std::size_t>(place)]};
  }
};

static_assert(implements<backend, op::pad>);

}  // namespace layerbench::reference
