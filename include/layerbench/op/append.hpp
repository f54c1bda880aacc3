// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Writes the rows of new tokens behind those of earlier tokens: keys or values into a key-value
/// cache, which is kept from step to step. For each of n sequences, with rows of `columns` values:
///
///   dst[n][context + t] = src[n][t].
///
/// The earlier rows are in dst already, and no call touches them. So only the new rows count, as
/// work and as bytes. Without earlier tokens there is no cache: the op then does nothing, and its
/// readers read src.
struct append {
  static constexpr std::string_view name = "append";
  static constexpr bool overwrites_source = true;

  std::int64_t n = 1, tokens = 1;
  position context = {0};
  std::int64_t columns = 1;

  static constexpr auto fields = std::tuple{
      required("n", &append::n, "sequences in a batch"),
      required("tokens", &append::tokens, "new tokens of a sequence"),
      required("context", &append::context, "earlier tokens of a sequence; 0: no cache"),
      required("columns", &append::columns, "values in a row"),
  };

  void validate() const { static_cast<void>(checked_add(context.value, tokens)); }

  [[nodiscard]] std::vector<pass> passes() const {
    if (context.value == 0) return {};
    return {pass::fwd};
  }

  /// src n*tokens*columns. dst the same, as a part of n*(context + tokens)*columns.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    operand written{"dst", {n, tokens, columns}, role::destination, type};
    if (context.value > 0) {
      written.kept_in = {n, context.value + tokens, columns};
      written.first = context.value;
    }
    return {{"src", {n, tokens, columns}, role::source, type}, written};
  }

  /// A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    static_cast<void>(elements({n, context.value + tokens, columns}));
    return {0, 0, 0};
  }
};

}  // namespace layerbench::op
