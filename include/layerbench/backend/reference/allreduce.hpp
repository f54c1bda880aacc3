// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/allreduce.hpp>

namespace layerbench::reference {

/// The operands hold the values of all ranks, so nothing is communicated.
template <>
struct formula<op::allreduce> {
  [[nodiscard]] static sum at(const op::allreduce& o, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const auto count = static_cast<std::int64_t>(in[0].size()) / o.ranks;
    sum total;
    for (std::int64_t rank = 0; rank < o.ranks; ++rank) {
      total.add(in[0][static_cast<std::size_t>(rank * count + index % count)]);
    }
    return total;
  }
};

static_assert(implements<backend, op::allreduce>);

}  // namespace layerbench::reference
