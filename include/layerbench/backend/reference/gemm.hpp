// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/post_ops.hpp>
#include <layerbench/op/gemm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::gemm> {
  [[nodiscard]] static sum at(const op::gemm& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::bwd) {
      if (output == 3) return source_gradient(o, in[2], in[1], index);
      return output == 4 ? weights_gradient(o, in[0], in[2], index)
                         : bias_gradient(o, in[2], index);
    }
    if (pass == op::pass::bwd_data) return source_gradient(o, in[0], in[1], index);
    if (pass == op::pass::bwd_weights) {
      return output == 2 ? weights_gradient(o, in[0], in[1], index)
                         : bias_gradient(o, in[1], index);
    }
    const std::int64_t n = index % o.n;
    const std::int64_t m = index / o.n % o.m;
    const std::int64_t batch = index / (o.n * o.m);
    sum total;
    for (std::int64_t k = 0; k < o.k; ++k) {
      total.add(o.has_narrow_weights() ? narrow_term(o, in, m, k, n)
                                       : product(in[0], batch * o.m * o.k + source(o, m, k), in[1],
                                                 batch * o.n * o.k + weight(o, k, n)));
    }
    // Libraries round the real weights to the type in which they multiply.
    if (o.has_narrow_weights()) total.rounded_terms = std::sqrt(total.squares);
    const std::size_t bias = o.bias_operand();
    if (o.bias) total.add(in[bias][static_cast<std::size_t>(n)]);
    return with_post_ops(total, o.post, in, o.bias ? bias + 1 : bias, index);
  }

 private:
  // Positions of element (m, k) of src and (k, n) of weights.

  static std::int64_t source(const op::gemm& o, std::int64_t m, std::int64_t k) {
    return o.a_transposed ? k * o.m + m : m * o.k + k;
  }
  static std::int64_t weight(const op::gemm& o, std::int64_t k, std::int64_t n) {
    return o.b_transposed ? n * o.k + k : k * o.n + n;
  }

  static double narrow_term(const op::gemm& o, tensors in, std::int64_t m, std::int64_t k,
                            std::int64_t n) {
    const auto at = [](const tensor& of, std::int64_t i) {
      return static_cast<double>(of[static_cast<std::size_t>(i)]);
    };
    const std::int64_t group = k / o.group() * o.n + n;
    const double zero = o.zero_points ? at(in[3], group) : 0;
    return at(in[0], source(o, m, k)) * (at(in[1], weight(o, k, n)) - zero) * at(in[2], group);
  }

  static sum source_gradient(const op::gemm& o, const tensor& diff_dst, const tensor& weights,
                             std::int64_t index) {
    const std::int64_t m = o.a_transposed ? index % o.m : index / o.k % o.m;
    const std::int64_t k = o.a_transposed ? index / o.m % o.k : index % o.k;
    const std::int64_t batch = index / (o.m * o.k);
    sum total;
    for (std::int64_t n = 0; n < o.n; ++n) {
      total.add(product(diff_dst, (batch * o.m + m) * o.n + n, weights,
                        batch * o.n * o.k + weight(o, k, n)));
    }
    return total;
  }

  static sum weights_gradient(const op::gemm& o, const tensor& src, const tensor& diff_dst,
                              std::int64_t index) {
    const std::int64_t k = o.b_transposed ? index % o.k : index / o.n % o.k;
    const std::int64_t n = o.b_transposed ? index / o.k % o.n : index % o.n;
    const std::int64_t batch = index / (o.n * o.k);
    sum total;
    for (std::int64_t m = 0; m < o.m; ++m) {
      total.add(
          product(src, batch * o.m * o.k + source(o, m, k), diff_dst, (batch * o.m + m) * o.n + n));
    }
    return total;
  }

  static sum bias_gradient(const op::gemm& o, const tensor& diff_dst, std::int64_t n) {
    sum total;
    for (std::int64_t row = 0; row < o.batch * o.m; ++row) {
      total.add(diff_dst[static_cast<std::size_t>(row * o.n + n)]);
    }
    return total;
  }
};

static_assert(implements<backend, op::gemm>);

}  // namespace layerbench::reference
