// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// dst[i] = weights[src[i]]: rows of a table by their indices, such as the embeddings of the tokens
/// of a text. Pass `bwd_weights` adds the gradient of each dst row to that of its table row; rows
/// that nobody read have the gradient 0.
struct embedding {
  static constexpr std::string_view name = "embedding";

  std::int64_t n = 1, rows = 1, columns = 1;

  static constexpr auto fields = std::tuple{
      required("n", &embedding::n, "indices: images or sentences times tokens"),
      required("rows", &embedding::rows, "rows of the table, such as words"),
      required("columns", &embedding::columns, "values in a row"),
  };

  void validate() const {
    constexpr std::int64_t most_rows = 1 << 24;  // that f32 can tell apart
    if (rows > most_rows) throw invalid_field("rows", "must not exceed 2^24");
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd_weights}; }

  /// src n (indices in 32 bits, rounded down), weights rows*columns, dst n*columns; gradients
  /// alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    operand indices{"src", {n}, role::source, dtype::f32, 0, static_cast<double>(rows)};
    indices.range_required = true;
    indices.is_index = true;
    if (p == pass::bwd_weights) {
      return {indices,
              {"diff_dst", {n, columns}, role::source, type},
              {"diff_weights", {rows, columns}, role::destination, type}};
    }
    operand table{"weights", {rows, columns}, role::weights, type};
    table.most_read = checked_multiply(n, columns);
    return {indices, table, {"dst", {n, columns}, role::destination, type}};
  }

  /// The row that an index stands for.
  [[nodiscard]] std::int64_t row(float index) const {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(index), 0, rows - 1);
  }

  /// A copy computes nothing; the gradient has an addition per element of dst.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t values = checked_multiply(n, columns);
    const std::int64_t flops = p == pass::bwd_weights ? values : 0;
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
