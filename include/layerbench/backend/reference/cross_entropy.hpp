// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/softmax.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench::reference {

template <>
struct formula<op::cross_entropy> {
  [[nodiscard]] static sum at(const op::cross_entropy& o, op::pass pass, tensors in,
                              std::size_t output, std::int64_t index) {
    if (pass == op::pass::bwd) return gradient(o, in, index);
    constexpr std::size_t loss = 3;
    return output == loss ? mean_loss(o, in) : probability(o, in, index);
  }

 private:
  static sum probability(const op::cross_entropy& o, tensors in, std::int64_t index) {
    return formula<op::softmax>::at({{o.n, o.c}, 1}, op::pass::fwd, in, 1, index);
  }

  static sum mean_loss(const op::cross_entropy& o, tensors in) {
    sum total;
    for (std::int64_t n = 0; n < o.n; ++n) {
      const std::int64_t right = o.right_class(in[1][static_cast<std::size_t>(n)]);
      const double images = static_cast<double>(o.n);
      const double least = op::cross_entropy::least_probability;
      total.add(-std::log(std::max(probability(o, in, n * o.c + right).value, least)) / images);
    }
    // It is taken from rounded probabilities, whose errors are relative: absolute in a logarithm.
    total.roundings = 3;
    total.rounded = 1;
    total.magnitude += 1;
    total.terms += o.c;
    return total;
  }

  /// Of dst and target.
  static sum gradient(const op::cross_entropy& o, tensors in, std::int64_t index) {
    const std::int64_t image = index / o.c;
    const std::int64_t right = o.right_class(in[1][static_cast<std::size_t>(image)]);
    const double images = static_cast<double>(o.n);
    sum total;
    total.add(in[0][static_cast<std::size_t>(index)] / images);
    if (index % o.c == right) total.add(-1 / images);
    return total;
  }
};

static_assert(implements<backend, op::cross_entropy>);

}  // namespace layerbench::reference
