// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>

namespace layerbench::reference {

/// The operands hold the values of all ranks, so nothing is communicated.
template <op::is_collective Op>
struct formula<Op> {
  [[nodiscard]] static sum at(const Op& o, op::pass /*pass*/, tensors in, std::size_t /*output*/,
                              std::int64_t index) {
    const op::collective collective = op::as_collective(o);
    const auto size = static_cast<std::int64_t>(in[0].size());
    const std::int64_t row = size / collective.sources();
    const auto value = [&](std::int64_t i) { return in[0][static_cast<std::size_t>(i)]; };
    sum total;
    if (collective.adds()) {
      for (std::int64_t rank = 0; rank < o.ranks; ++rank)
        total.add(value(rank * row + index % row));
    } else if (collective.kind == op::collective_kind::all_to_all) {
      const std::int64_t block = row / o.ranks;
      const std::int64_t to = index / row;
      const std::int64_t from = index % row / block;
      total.add(value(from * row + to * block + index % block));
    } else {
      total.add(value(index % size));
    }
    return total;
  }
};

static_assert(implements<backend, op::allreduce>);
static_assert(implements<backend, op::collective>);

}  // namespace layerbench::reference
