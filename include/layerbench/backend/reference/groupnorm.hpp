// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/layernorm.hpp>
#include <layerbench/op/groupnorm.hpp>

namespace layerbench::reference {

/// A layer normalization of rows, whose results have a scale and a bias per channel.
template <>
struct formula<op::groupnorm> {
  [[nodiscard]] static sum at(const op::groupnorm& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::bwd) return gradient(o, in, output, index);
    constexpr std::size_t dst = 3;
    const sum row = formula<op::layernorm>::at(o.rows(), pass, in.first(1), output - 2, index);
    if (output != dst) return row;
    const std::size_t c = channel(o, index);
    sum total = scaled(row, in[1][c]);
    total.add(in[2][c]);
    return total;
  }

 private:
  static std::size_t channel(const op::groupnorm& o, std::int64_t index) {
    return static_cast<std::size_t>(index / (o.h * o.w) % o.c);
  }
  static sum scaled(const sum& s, double factor) {
    return {s.value * factor, s.magnitude * std::abs(factor), s.squares * factor * factor, s.terms,
            s.roundings};
  }

  /// As of a layer normalization whose scale differs along a row.
  static sum gradient(const op::groupnorm& o, tensors in, std::size_t output, std::int64_t index) {
    constexpr std::size_t diff_src = 5;
    const std::int64_t columns = o.rows().columns();
    const auto inverse = [&](std::int64_t i) {
      return 1 / std::sqrt(in[4][static_cast<std::size_t>(i / columns)] + o.epsilon);
    };
    const auto normalized = [&](std::int64_t i) {
      return (in[0][static_cast<std::size_t>(i)] - in[3][static_cast<std::size_t>(i / columns)]) *
             inverse(i);
    };
    const auto diff_dst = [&](std::int64_t i) -> double {
      return in[1][static_cast<std::size_t>(i)];
    };
    sum total;
    if (output != diff_src) {
      const std::int64_t plane = o.h * o.w;
      for (std::int64_t image = 0; image < o.n; ++image) {
        const std::int64_t first = (image * o.c + index) * plane;
        for (std::int64_t i = first; i < first + plane; ++i) {
          total.add(diff_dst(i) * (output == diff_src + 1 ? normalized(i) : 1));
        }
      }
      return total;
    }
    const auto gradient_of = [&](std::int64_t i) { return diff_dst(i) * in[2][channel(o, i)]; };
    sum gradients;
    sum products;
    const std::int64_t first = index / columns * columns;
    for (std::int64_t i = first; i < first + columns; ++i) {
      const double part = gradient_of(i) / static_cast<double>(columns);
      gradients.add(part);
      products.add(part * normalized(i));
    }
    const double x = normalized(index);
    total.add(gradient_of(index));
    total.add(-gradients.value);
    total.add(-x * products.value);
    total.magnitude += gradients.magnitude + std::abs(x) * products.magnitude;
    total.squares += gradients.squares + x * x * products.squares;
    total.terms += columns;
    return scaled(total, inverse(index));
  }
};

static_assert(implements<backend, op::groupnorm>);

}  // namespace layerbench::reference
