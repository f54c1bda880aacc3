// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <layerbench/base/error.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run {

/// Those of `names` that `filter` selects, as Google Benchmark reads it (a regular expression found
/// anywhere; '-' in front selects the others). Throws usage_error for a bad expression.
[[nodiscard]] std::set<std::string> selected_names(const std::vector<std::string>& names,
                                                   const std::string& filter);

/// What decides for make_suite which cases are planned; empty where `filter` selects all.
[[nodiscard]] name_filter name_filter_of(const std::string& filter);

/// The names of rows.
[[nodiscard]] std::vector<std::string> names_of(
    const std::vector<std::unique_ptr<benchmark_row>>& rows);

/// The rows that `filter` selects, in their order; measuring them is left to the runner. Throws
/// usage_error for a bad expression.
[[nodiscard]] std::vector<benchmark_row*> select(
    const std::vector<std::unique_ptr<benchmark_row>>& rows, const std::string& filter);

/// What to say where `filter` selects none of these names: some of them.
[[nodiscard]] nothing_matched no_match(const std::vector<std::string>& names,
                                       const std::string& filter);

/// Sets Google Benchmark's global state so that it lists and does nothing else. Our options read
/// its environment variables instead: BENCHMARK_OUT would truncate a file.
void initialize_google_benchmark(char* program);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/select-inl.hpp>
#endif
