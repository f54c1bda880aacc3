// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// The products of a mixture of experts (Shazeer et al., Outrageously Large Neural Networks, 2017):
/// each of `tokens` has `top_k` of `experts`, and the row of each such choice is multiplied by the
/// weights of its expert. Rows lie by expert, and by token among those of one expert:
///
///   dst[row] = src[row] * weights[expert(row)].
///
/// With `gather` src has a row per token, from which the rows are copied. With `scatter` dst has a
/// row per token: the sum of its products times `scales`, the factors of its choices. The choices
/// are given (see op::routing), since those of random weights would have no load to speak of.
struct routed_gemm {
  static constexpr std::string_view name = "routed_gemm";

  std::int64_t tokens = 1, experts = 1, top_k = 1, n = 1, k = 1;
  bool gather = false, scatter = false;
  expert_load load = expert_load::balanced;

  static constexpr auto fields = std::tuple{
      required("tokens", &routed_gemm::tokens, "tokens of all sequences"),
      required("experts", &routed_gemm::experts, "matrices of weights"),
      required("top_k", &routed_gemm::top_k, "experts of a token"),
      required("n", &routed_gemm::n, "columns of the result"),
      required("k", &routed_gemm::k, "length of the sums"),
      optional("gather", &routed_gemm::gather, "whether src has a row per token"),
      optional("scatter", &routed_gemm::scatter, "whether dst has a row per token"),
      optional("load", &routed_gemm::load, "how choices are spread: balanced, hot or decode"),
  };

  void validate() const {
    constexpr std::int64_t most = 1 << 24;  // that f32 can tell apart
    if (experts > most) throw invalid_field("experts", "must not exceed 2^24");
    if (top_k > experts) throw invalid_field("top_k", "must not exceed experts");
    const std::int64_t choices = routing().rows();
    if (load == expert_load::hot && top_k == experts) {
      throw invalid_field("load", "hot needs more experts than a token has");
    }
    if (load == expert_load::decode && choices > experts) {
      throw invalid_field("load", "decode needs an expert for each choice of a token");
    }
  }

  [[nodiscard]] op::routing routing() const { return {tokens, top_k, experts, load}; }
  [[nodiscard]] std::int64_t rows() const { return routing().rows(); }

  static std::vector<pass> passes() { return {pass::fwd}; }

  /// src rows*k (tokens*k with `gather`), with `scatter` scales tokens*top_k, the experts of each
  /// token tokens*top_k (in 32 bits, rounded down), weights experts*k*n, dst rows*n (tokens*n with
  /// `scatter`). A call reads the weights of the experts that are chosen.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    const dims choices{tokens, top_k};
    operand chosen{"experts",  choices, role::statistics,
                   dtype::f32, 0,       static_cast<double>(experts)};
    chosen.range_required = true;
    chosen.is_index = true;
    chosen.routed = routing();
    // As step::keep_tensor() has it, which does not know which axes a sum has.
    const double high = std::min(1.0, std::sqrt(6 / static_cast<double>(k)));
    operand weights{"weights", {experts, k, n}, role::weights, type, -high, high};
    weights.most_read = checked_product({routing().active(), k, n});
    std::vector<operand> all{{"src", {gather ? tokens : rows(), k}, role::source, type}};
    if (scatter) all.push_back({"scales", choices, role::source, type, 0, 1});
    all.insert(all.end(), {chosen, weights});
    all.push_back({"dst", {scatter ? tokens : rows(), n}, role::destination, type});
    return all;
  }

  /// MACs: tokens*top_k*n*k; sums of products with their factors are not counted.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t macs = checked_product({rows(), n, k});
    const std::int64_t flops = checked_multiply(2, macs);
    return {macs, flops, flops};
  }

  /// Sorts the choices, whose experts are `chosen`, by expert: writes the row of each to `row_of`,
  /// and to `ends` where the rows of each expert end.
  template <class Experts>
  void sort(const Experts& chosen, std::span<std::int64_t> row_of,
            std::span<std::int64_t> ends) const {
    const auto expert = [&](std::size_t choice) {
      const auto number = static_cast<std::int64_t>(chosen[choice]);
      return static_cast<std::size_t>(std::clamp<std::int64_t>(number, 0, experts - 1));
    };
    std::ranges::fill(ends, 0);
    for (std::size_t i = 0; i < row_of.size(); ++i) ++ends[expert(i)];
    std::int64_t first = 0;
    for (std::int64_t& end : ends) first += std::exchange(end, first);
    for (std::size_t i = 0; i < row_of.size(); ++i) row_of[i] = ends[expert(i)]++;
  }
};

}  // namespace layerbench::op
