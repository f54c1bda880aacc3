// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Rotary position embedding (Su et al. 2021) with halves, as in Llama. In each row of d values,
/// that of a head of a token, values i and i + d/2 are a pair, which is turned:
///
///   dst[i] = cos[i] src[i] - sin[i] src[i + d/2]
///   dst[i + d/2] = cos[i + d/2] src[i + d/2] + sin[i + d/2] src[i].
///
/// cos and sin have a row for each token, which all sequences and heads share. They are constants.
/// Rows of a token lie one behind the other, head by head, as in op::attention.
struct rotary {
  static constexpr std::string_view name = "rotary";

  std::int64_t n = 1, tokens = 1, heads = 1, d = 2;

  static constexpr auto fields = std::tuple{
      required("n", &rotary::n, "sequences in a batch"),
      required("tokens", &rotary::tokens, "tokens of a sequence"),
      required("heads", &rotary::heads, "heads of a token"),
      required("d", &rotary::d, "values of a row of a head; even"),
  };

  void validate() const {
    if (d % 2 != 0) throw invalid_field("d", "must be even");
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Elements of src.
  [[nodiscard]] std::int64_t size() const { return checked_product({n, tokens, heads, d}); }

  /// src and dst n*tokens*(heads*d), cos and sin tokens*d; gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims all{n, tokens, checked_multiply(heads, d)};
    const bool backward = p == pass::bwd;
    return {{backward ? "diff_dst" : "src", all, role::source, type},
            {"cos", {tokens, d}, role::statistics, type},
            {"sin", {tokens, d}, role::statistics, type},
            {backward ? "diff_src" : "dst", all, role::destination, type}};
  }

  /// Two products and a sum per element; gradients alike.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t flops = checked_multiply(3, size());
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
