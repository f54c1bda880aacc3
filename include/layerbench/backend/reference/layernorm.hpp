// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/layernorm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::layernorm> {
  [[nodiscard]] static sum at(const op::layernorm& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::bwd) return gradient(o, in, output, index);
    const std::size_t dst = 1 + (o.scale ? 1U : 0U) + (o.has_bias() ? 1U : 0U);
    const std::int64_t row = output == dst ? index / o.columns() : index;
    const sum mean =
        o.has_mean() ? mean_of(o, [&](std::int64_t i) { return value(o, in, row, i); }) : sum{};
    const sum variance = mean_of(o, [&](std::int64_t i) {
      const double deviation = value(o, in, row, i) - mean.value;
      return deviation * deviation;
    });
    if (output == dst) return normalized(o, in, index, mean, variance.value);
    return o.has_mean() && output == dst + 1 ? mean : variance;
  }

 private:
  static double value(const op::layernorm& o, tensors in, std::int64_t row, std::int64_t column) {
    return in[0][static_cast<std::size_t>(row * o.columns() + column)];
  }

  /// Mean of `term(i)` over the columns.
  template <class Term>
  static sum mean_of(const op::layernorm& o, Term&& term) {
    sum total;
    for (std::int64_t i = 0; i < o.columns(); ++i) {
      total.add(term(i) / static_cast<double>(o.columns()));
    }
    return total;
  }

  /// (src - mean) / sqrt(variance + epsilon) * scale + bias.
  static sum normalized(const op::layernorm& o, tensors in, std::int64_t index, const sum& mean,
                        double variance) {
    const auto column = static_cast<std::size_t>(index % o.columns());
    const double factor = (o.scale ? in[1][column] : 1) / std::sqrt(variance + o.epsilon);
    sum total;
    total.add(factor * in[0][static_cast<std::size_t>(index)]);
    if (o.has_mean()) {
      total.add(-factor * mean.value);
      // The mean is rounded relative to its terms, which may cancel.
      total.magnitude += std::abs(factor) * mean.magnitude;
      total.squares += factor * factor * mean.squares;
    }
    if (o.has_bias()) total.add(in[o.scale ? 2 : 1][column]);
    total.terms += o.columns();
    return total;
  }

  /// With x the normalised src, g = diff_dst * scale and means over the row:
  /// diff_src = (g - mean(g) - x * mean(g * x)) / sqrt(variance + epsilon), diff_scale = sum of
  /// diff_dst * x and diff_bias = sum of diff_dst over the rows. `rms` has no mean(g).
  static sum gradient(const op::layernorm& o, tensors in, std::size_t output, std::int64_t index) {
    const std::size_t mean = o.scale ? 3 : 2;
    const std::size_t variance = mean + (o.has_mean() ? 1 : 0);
    const std::size_t diff_src = variance + 1;
    const auto inverse = [&](std::int64_t row) {
      return 1 / std::sqrt(in[variance][static_cast<std::size_t>(row)] + o.epsilon);
    };
    const auto normalized_src = [&](std::int64_t row, std::int64_t i) {
      const double center = o.has_mean() ? in[mean][static_cast<std::size_t>(row)] : 0;
      return (value(o, in, row, i) - center) * inverse(row);
    };
    const auto diff_dst = [&](std::int64_t row, std::int64_t i) -> double {
      return in[1][static_cast<std::size_t>(row * o.columns() + i)];
    };
    if (output != diff_src) {
      const bool of_scale = o.scale && output == diff_src + 1;
      sum total;
      for (std::int64_t row = 0; row < elements(o.rows()); ++row) {
        total.add(diff_dst(row, index) * (of_scale ? normalized_src(row, index) : 1));
      }
      return total;
    }
    const std::int64_t row = index / o.columns();
    const std::int64_t column = index % o.columns();
    const auto scaled = [&](std::int64_t i) {
      return diff_dst(row, i) * (o.scale ? in[2][static_cast<std::size_t>(i)] : 1);
    };
    const double x = normalized_src(row, column);
    const sum products =
        mean_of(o, [&](std::int64_t i) { return scaled(i) * normalized_src(row, i); });
    const sum gradients = o.has_mean() ? mean_of(o, scaled) : sum{};
    sum total;
    total.add(scaled(column));
    total.add(-gradients.value);
    total.add(-x * products.value);
    total.magnitude += gradients.magnitude + std::abs(x) * products.magnitude;
    total.squares += gradients.squares + x * x * products.squares;
    total.terms += o.columns();
    const double factor = inverse(row);
    return {total.value * factor, total.magnitude * factor, total.squares * factor * factor,
            total.terms, total.roundings};
  }
};

static_assert(implements<backend, op::layernorm>);

}  // namespace layerbench::reference
