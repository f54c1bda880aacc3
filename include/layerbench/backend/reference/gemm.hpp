// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::gemm> {
  [[nodiscard]] static sum at(const op::gemm& o, op::pass /*pass*/, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const std::int64_t n = index % o.n;
    const std::int64_t m = index / o.n % o.m;
    const std::int64_t batch = index / (o.n * o.m);
    sum total;
    for (std::int64_t k = 0; k < o.k; ++k) {
      const std::int64_t a = batch * o.m * o.k + (o.a_transposed ? k * o.m + m : m * o.k + k);
      const std::int64_t b = batch * o.n * o.k + (o.b_transposed ? n * o.k + k : k * o.n + n);
      total.add(static_cast<double>(in[0][static_cast<std::size_t>(a)]) *
                in[1][static_cast<std::size_t>(b)]);
    }
    if (o.bias) total.add(in[2][static_cast<std::size_t>(n)]);
    return total;
  }
};

static_assert(implements<backend, op::gemm>);

}  // namespace layerbench::reference
