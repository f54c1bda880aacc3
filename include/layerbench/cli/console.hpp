// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <layerbench/result/measurement.hpp>
#include <layerbench/session/options.hpp>

/// The table for people: one line per row, like Google Benchmark's console.
namespace layerbench::run {

namespace detail {

/// The columns after the name: 45 characters where times take 8, and the share of a peak on GPUs.
/// Colours take no width.
constexpr std::string_view console_columns = " {}{:>{}} {:>{}}{} {}{:>10}{} {:>7} {:>7}{}\n";
constexpr std::size_t console_time_width = 8;

/// The counter of communication rows, in bytes per second.
constexpr std::string_view communication_rate = "algorithm_bandwidth";

struct palette {
  std::string_view name, time, calls, error, off;
};

[[nodiscard]] bool wants_color(const options& o);

/// How the table of rows looks, beside its colours and names.
struct console_form {
  std::string unit = {};     ///< of times; empty: one that fits each
  bool percentiles = false;  ///< in place of the time, the CPU time and the calls
  std::size_t columns = 0;   ///< of the terminal; 0: as many as the names need
  std::int64_t threads = 0;  ///< of all rows; 0: they differ
};

}  // namespace detail

/// `rows` as a table, in the order of their first round; docs/formats.md defines its columns. What
/// all names share stands above it, unless `wide`. `has_events`: events of a GPU time rows.
[[nodiscard]] std::string console_table(const std::vector<result::measurement>& rows, bool color,
                                        bool wide = false, bool has_events = false,
                                        const detail::console_form& form = {});

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/console-inl.hpp>
#endif
