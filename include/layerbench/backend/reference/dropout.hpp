// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/dropout.hpp>

namespace layerbench::reference {

template <>
struct formula<op::dropout> {
  [[nodiscard]] static sum at(const op::dropout& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    const bool forward = pass == op::pass::fwd_training;
    constexpr std::size_t mask = 3;
    constexpr std::size_t new_seed = 4;
    sum total;
    if (forward && output == new_seed) {
      total.add(in[1][0]);
      total.add(1);
      return total;
    }
    const auto i = static_cast<std::size_t>(index);
    const bool kept = forward ? o.keeps(in[1][0], index) : in[1][i] != 0;
    if (forward && output == mask) {
      total.add(kept ? 1 : 0);
    } else {
      total.add(kept ? static_cast<double>(in[0][i]) * o.factor() : 0);
    }
    return total;
  }
};

static_assert(implements<backend, op::dropout>);

}  // namespace layerbench::reference
