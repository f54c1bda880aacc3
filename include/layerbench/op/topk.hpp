// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// The k largest values of each row of n*c, the largest first, and their columns; of equal values
/// the first column. With `normalized` each row of dst is divided by its sum, as the probabilities
/// of the experts that a token chooses are.
struct topk {
  static constexpr std::string_view name = "topk";

  std::int64_t n = 1, c = 1, k = 1;
  bool normalized = false;

  static constexpr auto fields = std::tuple{
      required("n", &topk::n, "rows, such as tokens"),
      required("c", &topk::c, "values in a row, such as experts"),
      required("k", &topk::k, "values that are chosen"),
      optional("normalized", &topk::normalized, "whether chosen values are divided by their sum"),
  };

  void validate() const {
    constexpr std::int64_t most = 1 << 24;  // columns that f32 can tell apart
    if (c > most) throw invalid_field("c", "must not exceed 2^24");
    if (k > c) throw invalid_field("k", "must not exceed c");
  }

  /// src n*c, dst n*k, indices n*k in 32 bits.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    operand indices{"indices", {n, k}, role::destination, dtype::f32};
    indices.integral = true;
    return {{"src", {n, c}, role::source, type, 0, 1},
            {"dst", {n, k}, role::destination, type},
            indices};
  }

  /// A comparison per element of src; with `normalized` a sum and a division per element of dst.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t chosen = checked_product({normalized ? 2 : 0, n, k});
    const std::int64_t flops = checked_add(checked_multiply(n, c), chosen);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
