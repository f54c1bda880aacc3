// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/attention.hpp>

namespace layerbench::reference {

/// All results share the probabilities of a query. They are computed when first needed: a sampled
/// check needs few of them.
///
/// In 16 bits libraries round each probability, and in the backward pass also the gradients of
/// probabilities and scores. Fused kernels compute the mean gradient of a query's probabilities as
/// the inner product of dst, which is rounded, and diff_dst. Scores must be f32: in 16 bits their
/// error is u times the score, which becomes the relative error of a probability.
template <>
struct formula<op::attention> {
  class evaluation {
   public:
    evaluation(const op::attention& o, op::pass pass, tensors in)
        : o_(o),
          pass_(pass),
          in_(in.begin(), in.end()),
          scale_(1 / std::sqrt(static_cast<double>(o.d))),
          rows_(static_cast<std::size_t>(o.n * o.heads * o.q)) {}

    [[nodiscard]] sum at(std::size_t output, std::int64_t index) const {
      const bool of_queries = output == dst || output == diff_query;
      const std::int64_t heads = of_queries ? o_.heads : o_.groups();
      const std::int64_t tokens = of_queries ? o_.q : o_.k;
      const element wanted{index / (tokens * heads * o_.d), index / (heads * o_.d) % tokens,
                           index / o_.d % heads, index % o_.d};
      if (output == dst) return result(wanted);
      if (output == diff_query) return query_gradient(wanted);
      return key_or_value_gradient(wanted, output == diff_key);
    }

   private:
    using operand_index = op::attention::operand_index;
    using enum operand_index;
    struct element {
      std::int64_t n, token, head, column;
    };

    /// What a query has for each key that it sees.
    struct row {
      std::vector<double> probabilities;
      std::vector<double> gradients;  ///< of the probabilities
      double mean_gradient = 0;       ///< weighted by the probabilities
      double mean_rounding = 0;       ///< sum of the squares of what is rounded in its terms
      double score_magnitude = 0;     ///< largest sum of the magnitudes of a score's terms
      double gradient_magnitude = 0;  ///< the same of a gradient's terms
    };

    [[nodiscard]] double queries(operand_index of, const element& at, std::int64_t column) const {
      return in_[of][static_cast<std::size_t>(
          ((at.n * o_.q + at.token) * o_.heads + at.head) * o_.d + column)];
    }
    /// Of the head of keys and values that a head of queries reads.
    [[nodiscard]] double keys(operand_index of, const element& query_at, std::int64_t token,
                              std::int64_t column) const {
      const std::int64_t head = query_at.head / o_.group_size();
      return in_[of][static_cast<std::size_t>(
          ((query_at.n * o_.k + token) * o_.groups() + head) * o_.d + column)];
    }

    [[nodiscard]] const row& row_of(const element& at) const {
      row& known = rows_[static_cast<std::size_t>((at.n * o_.heads + at.head) * o_.q + at.token)];
      if (known.probabilities.empty()) compute(known, at);
      return known;
    }

    void compute(row& of, const element& at) const {
      const std::int64_t count = o_.visible(at.token);
      for (std::int64_t j = 0; j < count; ++j) {
        const sum score = inner_product(query, key, at, j);
        of.probabilities.push_back(score.value * scale_);
        of.score_magnitude = std::max(of.score_magnitude, score.magnitude * scale_);
      }
      const double largest = std::ranges::max(of.probabilities);
      double total = 0;
      for (double& p : of.probabilities) total += p = std::exp(p - largest);
      for (double& p : of.probabilities) p /= total;
      if (pass_ != op::pass::bwd) return;
      for (std::int64_t j = 0; j < count; ++j) {
        const sum gradient = inner_product(diff_dst, value, at, j);
        of.gradients.push_back(gradient.value);
        of.gradient_magnitude = std::max(of.gradient_magnitude, gradient.magnitude);
        const double term = of.probabilities[static_cast<std::size_t>(j)] * gradient.value;
        of.mean_gradient += term;
        of.mean_rounding += 2 * term * term;  // both factors
      }
      double fused_rounding = 0;
      for (std::int64_t i = 0; i < o_.d; ++i) {
        double result = 0;
        for (std::int64_t j = 0; j < count; ++j) {
          result += of.probabilities[static_cast<std::size_t>(j)] * keys(value, at, j, i);
        }
        const double term = result * queries(diff_dst, at, i);
        fused_rounding += term * term;
      }
      of.mean_rounding = std::max(of.mean_rounding, fused_rounding);
    }

    [[nodiscard]] sum inner_product(operand_index of_queries, operand_index of_keys,
                                    const element& at, std::int64_t token) const {
      sum total;
      for (std::int64_t i = 0; i < o_.d; ++i) {
        total.add(queries(of_queries, at, i) * keys(of_keys, at, token, i));
      }
      return total;
    }

    /// Adds products, of a library's results in single precision that are rounded to the data type.
    class accumulator {
     public:
      /// `exact`: of the term; `magnitude`: of what cancels in it; `rounded`: sum of the squares of
      /// what is rounded.
      void add(double exact, double magnitude, double rounded) {
        total_.value += exact;
        total_.magnitude += magnitude;
        total_.squares += magnitude * magnitude;
        ++total_.terms;
        squares_ += rounded;
      }
      /// Roundings that all terms share.
      void add_shared(double rounded) { squares_ += rounded; }
      [[nodiscard]] sum result(std::int64_t inner_terms) {
        total_.terms += inner_terms;
        total_.rounded_terms = std::sqrt(squares_);
        return total_;
      }

     private:
      sum total_;
      double squares_ = 0;
    };

    [[nodiscard]] sum result(const element& at) const {
      const row& of = row_of(at);
      accumulator total;
      for (std::size_t j = 0; j < of.probabilities.size(); ++j) {
        const double term =
            of.probabilities[j] * keys(value, at, static_cast<std::int64_t>(j), at.column);
        total.add(term, std::abs(term) * (1 + of.score_magnitude), term * term);
      }
      return total.result(o_.d);
    }

    /// Gradient of a score, p * (gradient of p - mean), times `factor` and the scale. It is
    /// rounded, and so are p, the gradient of p and, `mean_rounding`, the mean.
    void add_score_gradient(accumulator& total, const row& of, std::size_t j, double factor,
                            double mean_rounding) const {
      const double weight = of.probabilities[j] * factor * scale_;
      const double difference = of.gradients[j] - of.mean_gradient;
      total.add(
          weight * difference,
          std::abs(weight) * 2 * of.gradient_magnitude * (1 + of.score_magnitude),
          weight * weight *
              (2 * difference * difference + of.gradients[j] * of.gradients[j] + mean_rounding));
    }

    [[nodiscard]] sum query_gradient(const element& at) const {
      const row& of = row_of(at);
      accumulator total;
      double mean_key = 0;
      for (std::size_t j = 0; j < of.probabilities.size(); ++j) {
        const double factor = keys(key, at, static_cast<std::int64_t>(j), at.column);
        add_score_gradient(total, of, j, factor, 0);
        mean_key += of.probabilities[j] * factor * scale_;
      }
      total.add_shared(mean_key * mean_key * of.mean_rounding);
      return total.result(2 * o_.d);
    }

    [[nodiscard]] sum key_or_value_gradient(const element& at, bool of_key) const {
      accumulator total;
      for (std::int64_t head = at.head * o_.group_size(); head < (at.head + 1) * o_.group_size();
           ++head) {
        for (std::int64_t i = 0; i < o_.q; ++i) {
          if (o_.visible(i) <= at.token) continue;
          const element query_at{at.n, i, head, at.column};
          const row& of = row_of(query_at);
          const auto j = static_cast<std::size_t>(at.token);
          if (of_key) {
            add_score_gradient(total, of, j, queries(query, query_at, at.column), of.mean_rounding);
          } else {
            const double term = of.probabilities[j] * queries(diff_dst, query_at, at.column);
            total.add(term, std::abs(term) * (1 + of.score_magnitude), term * term);
          }
        }
      }
      return total.result(2 * o_.d);
    }

    op::attention o_;
    op::pass pass_;
    std::vector<tensor> in_;
    double scale_;
    mutable std::vector<row> rows_;  ///< empty where not needed yet
  };
};

static_assert(implements<backend, op::attention>);

}  // namespace layerbench::reference
