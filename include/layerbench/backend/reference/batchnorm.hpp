// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/backend/reference/post_ops.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench::reference {

template <>
struct formula<op::batchnorm> {
  /// The results of a channel share sums over its elements, which are computed when first needed.
  class evaluation {
   public:
    evaluation(const op::batchnorm& o, op::pass pass, tensors in)
        : o_(o), pass_(pass), in_(in.begin(), in.end()), sums_(static_cast<std::size_t>(o.c)) {}

    [[nodiscard]] sum at(std::size_t output, std::int64_t index) const {
      if (pass_ == op::pass::fwd_training) return train(output, index);
      if (pass_ == op::pass::bwd) return gradient(output, index);
      const std::size_t mean = 1 + o_.learned();
      const std::size_t c = channel(index);
      return with_post_ops(normalized(index, in_[mean][c], in_[mean + 1][c]), o_.post, in_,
                           mean + 2, index);
    }

   private:
    /// In training mean and variance; of `bwd` the sums of diff_dst, and of its products with the
    /// normalized source.
    struct channel_sums {
      sum first;
      sum second;
    };

    [[nodiscard]] std::size_t channel(std::int64_t index) const {
      return static_cast<std::size_t>(index / (o_.h * o_.w) % o_.c);
    }
    [[nodiscard]] double count() const { return static_cast<double>(o_.n * o_.h * o_.w); }

    /// (src - mean) / sqrt(variance + epsilon) * scale + shift (Ioffe and Szegedy 2015, algorithm
    /// 1).
    [[nodiscard]] sum normalized(std::int64_t index, double mean, double variance) const {
      const std::size_t c = channel(index);
      const double scale = o_.scale ? in_[1][c] : 1;
      const double factor = scale / std::sqrt(variance + o_.epsilon);
      sum total;
      total.add(factor * in_[0][static_cast<std::size_t>(index)]);
      total.add(-factor * mean);
      if (o_.shift) total.add(in_[o_.learned()][c]);
      return total;
    }

    /// Sums `term(i)` over the elements of a channel.
    template <class Term>
    [[nodiscard]] sum over_channel(std::size_t c, const Term& term) const {
      sum total;
      const std::int64_t plane = o_.h * o_.w;
      for (std::int64_t n = 0; n < o_.n; ++n) {
        const std::int64_t first = (n * o_.c + static_cast<std::int64_t>(c)) * plane;
        for (std::int64_t i = first; i < first + plane; ++i) {
          total.add(term(static_cast<std::size_t>(i)));
        }
      }
      return total;
    }
    static sum scaled(sum s, double factor) {
      return {s.value * factor, s.magnitude * std::abs(factor), s.squares * factor * factor,
              s.terms, s.roundings};
    }
    [[nodiscard]] sum averaged(const sum& total) const { return scaled(total, 1 / count()); }

    /// The sums of a channel, which `compute` gives.
    template <class Compute>
    [[nodiscard]] const channel_sums& sums_of(std::size_t c, const Compute& compute) const {
      std::optional<channel_sums>& known = sums_[c];
      if (!known) known = compute();
      return *known;
    }

    [[nodiscard]] sum train(std::size_t output, std::int64_t index) const {
      const std::size_t running_mean = 1 + o_.learned();
      const std::size_t dst = running_mean + 2;
      const std::size_t c = output == dst ? channel(index) : static_cast<std::size_t>(index);
      const auto& [mean, variance] = sums_of(c, [&] {
        const sum first = averaged(over_channel(c, [&](std::size_t i) { return in_[0][i]; }));
        return channel_sums{first, averaged(over_channel(c, [&](std::size_t i) {
                              const double deviation = in_[0][i] - first.value;
                              return deviation * deviation;
                            }))};
      });
      const double n = count();
      const double unbiased = n > 1 ? n / (n - 1) : 1;
      if (output == dst) {
        sum total = normalized(index, mean.value, variance.value);
        // Rounding errors of mean and variance.
        total.terms += mean.terms;
        const double scale = o_.scale ? in_[1][c] : 1;
        total.magnitude +=
            std::abs(scale) / std::sqrt(variance.value + o_.epsilon) * mean.magnitude;
        return total;
      }
      switch (output - dst) {
        case 1: return mean;
        case 2: return variance;
        case 3: return updated(in_[running_mean][c], mean);
        default: return updated(in_[running_mean + 1][c], scaled(variance, unbiased));
      }
    }

    /// (1 - momentum) * running + momentum * batch.
    static sum updated(double running, const sum& batch) {
      sum total = scaled(batch, op::batchnorm::momentum);
      total.add((1 - op::batchnorm::momentum) * running);
      return total;
    }

    /// diff_src, diff_scale or diff_shift (Ioffe and Szegedy 2015, section 3).
    [[nodiscard]] sum gradient(std::size_t output, std::int64_t index) const {
      const std::size_t mean = o_.scale ? 3 : 2;
      const std::size_t diff_src = mean + 2;
      const std::size_t diff_shift = diff_src + o_.learned();
      const std::size_t c = output == diff_src ? channel(index) : static_cast<std::size_t>(index);
      const double center = in_[mean][c];
      const double inverse = 1 / std::sqrt(in_[mean + 1][c] + o_.epsilon);
      const auto normalized_src = [&](std::size_t i) { return (in_[0][i] - center) * inverse; };
      const auto& [shifts, scales] = sums_of(c, [&] {
        const auto product = [&](std::size_t i) { return in_[1][i] * normalized_src(i); };
        return channel_sums{over_channel(c, [&](std::size_t i) { return in_[1][i]; }),
                            over_channel(c, product)};
      });
      if (output != diff_src) return o_.shift && output == diff_shift ? shifts : scales;
      const auto i = static_cast<std::size_t>(index);
      const sum shift = averaged(shifts);
      const sum scale = averaged(scales);
      sum total;
      total.add(in_[1][i]);
      total.add(-shift.value);
      total.add(-normalized_src(i) * scale.value);
      total.magnitude += shift.magnitude + std::abs(normalized_src(i)) * scale.magnitude;
      total.squares += shift.squares + normalized_src(i) * normalized_src(i) * scale.squares;
      total.terms += shift.terms;
      return scaled(total, (o_.scale ? in_[2][c] : 1) * inverse);
    }

    op::batchnorm o_;
    op::pass pass_;
    std::vector<tensor> in_;
    mutable std::vector<std::optional<channel_sums>> sums_;  ///< by channel
  };
};

static_assert(implements<backend, op::batchnorm>);

}  // namespace layerbench::reference
