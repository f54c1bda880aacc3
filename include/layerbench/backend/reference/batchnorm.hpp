// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/post_ops.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::batchnorm> {
  [[nodiscard]] static sum at(const op::batchnorm& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::fwd_training) return train(o, in, output, index);
    if (pass == op::pass::bwd) return gradient(o, in, output, index);
    const std::size_t mean = 1 + o.learned();
    const std::size_t c = channel(o, index);
    return with_post_ops(normalized(o, in, index, in[mean][c], in[mean + 1][c]), o.post, in,
                         mean + 2, index);
  }

 private:
  static std::size_t channel(const op::batchnorm& o, std::int64_t index) {
    return static_cast<std::size_t>(index / (o.h * o.w) % o.c);
  }
  static double elements_of(const op::batchnorm& o) { return static_cast<double>(o.n * o.h * o.w); }

  /// (src - mean) / sqrt(variance + epsilon) * scale + shift (Ioffe and Szegedy 2015, algorithm 1).
  static sum normalized(const op::batchnorm& o, tensors in, std::int64_t index, double mean,
                        double variance) {
    const std::size_t c = channel(o, index);
    const double scale = o.scale ? in[1][c] : 1;
    const double factor = scale / std::sqrt(variance + o.epsilon);
    sum total;
    total.add(factor * in[0][static_cast<std::size_t>(index)]);
    total.add(-factor * mean);
    if (o.shift) total.add(in[o.learned()][c]);
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
  /// over_channel() divided by the number of elements.
  template <class Term>
  static sum mean_over_channel(const op::batchnorm& o, std::size_t c, Term&& term) {
    return scaled(over_channel(o, c, term), 1 / elements_of(o));
  }
  static sum scaled(sum s, double factor) {
    return {s.value * factor, s.magnitude * std::abs(factor), s.squares * factor * factor, s.terms,
            s.roundings};
  }

  static sum train(const op::batchnorm& o, tensors in, std::size_t output, std::int64_t index) {
    const std::size_t running_mean = 1 + o.learned();
    const std::size_t dst = running_mean + 2;
    const std::size_t c = output == dst ? channel(o, index) : static_cast<std::size_t>(index);
    const sum mean = mean_over_channel(o, c, [&](std::size_t i) { return in[0][i]; });
    const sum variance = mean_over_channel(o, c, [&](std::size_t i) {
      const double deviation = in[0][i] - mean.value;
      return deviation * deviation;
    });
    const double n = elements_of(o);
    const double unbiased = n > 1 ? n / (n - 1) : 1;
    if (output == dst) {
      sum total = normalized(o, in, index, mean.value, variance.value);
      // Rounding errors of mean and variance.
      total.terms += mean.terms;
      const double scale = o.scale ? in[1][c] : 1;
      total.magnitude += std::abs(scale) / std::sqrt(variance.value + o.epsilon) * mean.magnitude;
      return total;
    }
    switch (output - dst) {
      case 1: return mean;
      case 2: return variance;
      case 3: return updated(in[running_mean][c], mean);
      default: return updated(in[running_mean + 1][c], scaled(variance, unbiased));
    }
  }

  /// (1 - momentum) * running + momentum * batch.
  static sum updated(double running, const sum& batch) {
    sum total = scaled(batch, op::batchnorm::momentum);
    total.add((1 - op::batchnorm::momentum) * running);
    return total;
  }

  /// diff_src, diff_scale or diff_shift (Ioffe and Szegedy 2015, section 3).
  static sum gradient(const op::batchnorm& o, tensors in, std::size_t output, std::int64_t index) {
    const std::size_t mean = o.scale ? 3 : 2;
    const std::size_t diff_src = mean + 2;
    const std::size_t diff_shift = diff_src + o.learned();
    const std::size_t c = output == diff_src ? channel(o, index) : static_cast<std::size_t>(index);
    const double inverse = 1 / std::sqrt(in[mean + 1][c] + o.epsilon);
    const auto normalized_src = [&](std::size_t i) { return (in[0][i] - in[mean][c]) * inverse; };
    const auto diff_dst = [&](std::size_t i) { return in[1][i]; };
    const auto product = [&](std::size_t i) { return in[1][i] * normalized_src(i); };
    if (output != diff_src && o.shift && output == diff_shift) return over_channel(o, c, diff_dst);
    if (output != diff_src) return over_channel(o, c, product);
    const auto i = static_cast<std::size_t>(index);
    const sum shift = mean_over_channel(o, c, diff_dst);
    const sum scale = mean_over_channel(o, c, product);
    sum total;
    total.add(diff_dst(i));
    total.add(-shift.value);
    total.add(-normalized_src(i) * scale.value);
    total.magnitude += shift.magnitude + std::abs(normalized_src(i)) * scale.magnitude;
    total.squares += shift.squares + normalized_src(i) * normalized_src(i) * scale.squares;
    total.terms += shift.terms;
    return scaled(total, (o.scale ? in[2][c] : 1) * inverse);
  }
};

static_assert(implements<backend, op::batchnorm>);

}  // namespace layerbench::reference
