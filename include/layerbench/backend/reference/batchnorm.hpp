// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::batchnorm> {
  [[nodiscard]] static sum at(const op::batchnorm& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::fwd_training) return train(o, in, output, index);
    if (pass == op::pass::bwd) return gradient(o, in, output, index);
    return normalized(o, in, index, in[3][channel(o, index)], in[4][channel(o, index)]);
  }

 private:
  static std::size_t channel(const op::batchnorm& o, std::int64_t index) {
    return static_cast<std::size_t>(index / (o.h * o.w) % o.c);
  }
  static double elements_of(const op::batchnorm& o) { return static_cast<double>(o.n * o.h * o.w); }

  /// Of src, scale and shift.
  static sum normalized(const op::batchnorm& o, tensors in, std::int64_t index, double mean,
                        double variance) {
    const std::size_t c = channel(o, index);
    const double factor = in[1][c] / std::sqrt(variance + o.epsilon);
    sum total;
    total.add(factor * in[0][static_cast<std::size_t>(index)]);
    total.add(-factor * mean);
    total.add(in[2][c]);
    return total;
  }

  /// Sums `term(i)` over the elements of a channel.
  template <class Term>
  static sum over_channel(const op::batchnorm& o, std::size_t c, Term&& term) {
    sum total;
    const std::int64_t plane = o.h * o.w;
    for (std::int64_t n = 0; n < o.n; ++n) {
      const std::int64_t first = (n * o.c + static_cast<std::int64_t>(c)) * plane;
      for (std::int64_t i = first; i < first + plane; ++i) {
        total.add(term(static_cast<std::size_t>(i)));
      }
    }
    return total;
  }
  /// The same / the number of elements.
  template <class Term>
  static sum mean_over_channel(const op::batchnorm& o, std::size_t c, Term&& term) {
    return scaled(over_channel(o, c, term), 1 / elements_of(o));
  }
  static sum scaled(sum of, double factor) {
    return {of.value * factor, of.magnitude * std::abs(factor), of.squares * factor * factor,
            of.terms, of.roundings};
  }

  static sum train(const op::batchnorm& o, tensors in, std::size_t output, std::int64_t index) {
    constexpr std::size_t dst = 5;
    const std::size_t c = output == dst ? channel(o, index) : static_cast<std::size_t>(index);
    const sum mean = mean_over_channel(o, c, [&](std::size_t i) { return in[0][i]; });
    const sum variance = mean_over_channel(o, c, [&](std::size_t i) {
      const double off = in[0][i] - mean.value;
      return off * off;
    });
    const double n = elements_of(o);
    const double unbiased = n > 1 ? n / (n - 1) : 1;
    switch (output) {
      case dst: {
        sum total = normalized(o, in, index, mean.value, variance.value);
        total.terms += mean.terms;  // the statistics have errors of their own
        return total;
      }
      case 6: return mean;
      case 7: return variance;
      case 8: return moved(in[3][c], mean);
      default: return moved(in[4][c], scaled(variance, unbiased));
    }
  }

  /// A running statistic after it was moved to that of a batch.
  static sum moved(double running, const sum& to) {
    sum total = scaled(to, op::batchnorm::momentum);
    total.add((1 - op::batchnorm::momentum) * running);
    return total;
  }

  /// Of src, diff_dst, scale, mean and variance (Ioffe and Szegedy 2015, section 3).
  static sum gradient(const op::batchnorm& o, tensors in, std::size_t output, std::int64_t index) {
    constexpr std::size_t diff_src = 5;
    constexpr std::size_t diff_scale = 6;
    const std::size_t c = output == diff_src ? channel(o, index) : static_cast<std::size_t>(index);
    const double inverse = 1 / std::sqrt(in[4][c] + o.epsilon);
    const auto normal = [&](std::size_t i) { return (in[0][i] - in[3][c]) * inverse; };
    const auto above = [&](std::size_t i) { return in[1][i]; };
    const auto product = [&](std::size_t i) { return in[1][i] * normal(i); };
    if (output == diff_scale) return over_channel(o, c, product);
    if (output != diff_src) return over_channel(o, c, above);
    const auto i = static_cast<std::size_t>(index);
    const sum shift = mean_over_channel(o, c, above);
    const sum scale = mean_over_channel(o, c, product);
    sum total;
    total.add(above(i));
    total.add(-shift.value);
    total.add(-normal(i) * scale.value);
    total.magnitude += shift.magnitude + std::abs(normal(i)) * scale.magnitude;
    total.squares += shift.squares + normal(i) * normal(i) * scale.squares;
    total.terms += shift.terms;
    return scaled(total, in[2][c] * inverse);
  }
};

static_assert(implements<backend, op::batchnorm>);

}  // namespace layerbench::reference
