// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/report/svg.hpp>

/// The chart of a step by kind of op.
namespace layerbench::report::svg {

/// A bar of the whole step, divided by op. The table below it is its legend.
[[nodiscard]] inline markup share_bar(const analysis::prediction& p, const palette& ops) {
  std::vector<std::pair<std::string, double>> fills;
  for (const auto& [op, share] : analysis::shares_by_op(p)) fills.emplace_back(ops.fill(op), share);
  return bar("The step by kind of op, as in the table below", fills);
}

}  // namespace layerbench::report::svg
