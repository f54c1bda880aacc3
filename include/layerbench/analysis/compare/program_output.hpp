// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/result/program_output.hpp>

/// Comparison of what other benchmark programs print or write.
namespace layerbench::analysis {

/// Weights by the names of rows.
using row_weights = std::map<std::string, double, std::less<>>;

/// Compares two sides, neither of them empty, whose n-th runs are a pair. Rows are compared where
/// their names agree, and a side's only row with the other's, whatever their names. The sum of the
/// rows of all runs, each times its weight (1 unless `weights` has it), is compared if there are
/// several rows, in one unit, and less is better. Throws nothing_matched if the sides share no row,
/// bad_input for a weight of a row that they do not share, and usage_error for weights without a
/// sum.
[[nodiscard]] comparison compare_metrics(std::span<const result::metrics> old,
                                         std::span<const result::metrics> now,
                                         const row_weights& weights,
                                         const comparison_options& chosen);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/program_output-inl.hpp>
#endif
