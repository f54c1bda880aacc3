// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/compiled.hpp>
#include <layerbench/result/protocol_error.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/case_state.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE std::optional<result::step_sum> case_state::sum() const {
  const bool some_in_model = std::ranges::any_of(rows, &row_state::in_model);
  std::vector<result::timing> timings;
  std::vector<result::term> terms;
  std::vector<result::timing_of_op> all;
  timings.reserve(rows.size());
  for (const row_state& row : rows) {
    if (!row.timed() || (some_in_model && !row.in_model)) continue;
    timings.push_back(row.timing);
    all.push_back({row.benchmark->name().op, &timings.back()});
    terms.push_back({static_cast<double>(row.count), &timings.back()});
  }
  if (terms.empty()) return std::nullopt;
  result::correct_slowed_rounds(all);
  double seconds = 0;
  for (const result::term& one : terms) seconds += one.weight * one.of->seconds();
  std::optional<std::string_view> kind;
  if (some_in_model) {
    const auto op_of = [](const row_state& row) -> const std::string& {
      return row.benchmark->name().op;
    };
    kind = result::step_kind(name, rows | std::views::transform(op_of));
  }
  return result::sum_of_step(seconds, terms, name.backend, kind);
}

}  // namespace layerbench::run
