// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Reads what other benchmark programs print or write (docs/compare.md).
namespace layerbench::result {

/// A number of a benchmark's output.
struct metric {
  std::string name;
  double value = 0;        ///< above 0; times in seconds
  std::string unit = "s";  ///< empty: unknown
  bool higher_is_better = false;
};

/// The format that layerbench's own files have, too.
inline constexpr std::string_view google_format = "Google Benchmark JSON";

/// The numbers of one run. Rows that failed or were skipped are left out.
struct metrics {
  std::string file;               ///< where they were read, for errors
  std::string format;             ///< the name of the format
  std::vector<metric> rows = {};  ///< each name once: of repetitions the median
};

/// What to read from an output whose format is not known.
struct metric_choice {
  std::string pattern = {};  ///< a regular expression (ECMAScript) whose group 1 is the number
  std::vector<std::string> columns =
      {};                         ///< of CSV: those of a row's name, then that of its number
  bool higher_is_better = false;  ///< of these numbers

  [[nodiscard]] bool empty() const { return pattern.empty() && columns.empty(); }
};

/// Reads the text of an output: with a `choice` by it, else in the format that the text has. Errors
/// name `file`. Throws bad_input for a text without numbers or in no known format.
[[nodiscard]] metrics read_metrics(const std::string& text, const std::string& file,
                                   const metric_choice& choice = {});

/// Names of the formats that are recognised, with commas between them.
[[nodiscard]] std::string metric_formats();

/// The weights of rows: the columns `name` and `weight` of a CSV file. Throws bad_input.
[[nodiscard]] std::map<std::string, double, std::less<>> read_weights(const std::string& text,
                                                                      const std::string& file);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/program_output-inl.hpp>
#endif
