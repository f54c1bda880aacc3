// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::batchnorm> {
  [[nodiscard]] static sum at(const op::batchnorm& o, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const auto c = static_cast<std::size_t>(index / (o.h * o.w) % o.c);
    const double factor = in[1][c] / std::sqrt(in[4][c] + o.epsilon);
    sum total;
    total.add(factor * in[0][static_cast<std::size_t>(index)]);
    total.add(-factor * in[3][c]);
    total.add(in[2][c]);
    return total;
  }
};

static_assert(implements<backend, op::batchnorm>);

}  // namespace layerbench::reference
