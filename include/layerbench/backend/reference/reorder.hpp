// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench::reference {

/// Operands are row-major in this backend, so a reorder is a copy.
template <>
struct formula<op::reorder> {
  [[nodiscard]] static sum at(const op::reorder& /*o*/, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    return {in[0][static_cast<std::size_t>(index)], 0, 0, 0, 1};
  }
};

static_assert(implements<backend, op::reorder>);

}  // namespace layerbench::reference
