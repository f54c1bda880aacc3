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
      const std::int64_t label = o.label_of(in[1][static_cast<std::size_t>(n)]);
      const double images = static_cast<double>(o.n);
      const double min_probability = op::cross_entropy::min_probability;
      total.add(-std::log(std::max(probability(o, in, n * o.c + label).value, min_probability)) /
                images);
    }
    // Libraries take the logarithm of rounded probabilities, whose relative error becomes an
    // absolute error of the logarithm.
    total.roundings = 3;
    total.rounded = 1;
    total.magnitude += 1;
    total.terms += o.c;
    return total;
  }

  /// diff_src = (dst - 1 at the label) / n.
  static sum gradient(const op::cross_entropy& o, tensors in, std::int64_t index) {
    const std::int64_t image = index / o.c;
    const std::int64_t label = o.label_of(in[1][static_cast<std::size_t>(image)]);
    const double images = static_cast<double>(o.n);
    sum total;
    total.add(in[0][static_cast<std::size_t>(index)] / images);
    if (index % o.c == label) total.add(-1 / images);
    return total;
  }
};

static_assert(implements<backend, op::cross_entropy>);

}  // namespace layerbench::reference
