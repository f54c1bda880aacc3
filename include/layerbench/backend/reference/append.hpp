// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/append.hpp>

namespace layerbench::reference {

template <>
struct formula<op::append> {
  [[nodiscard]] static sum at(const op::append& /*o*/, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    sum total;
    total.add(in[0][static_cast<std::size_t>(index)]);
    return total;
  }
};

static_assert(implements<backend, op::append>);

}  // namespace layerbench::reference
