// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>

/// Results in Google Benchmark's own formats, written by its own reporters.
namespace layerbench::run {

using google_run = benchmark::BenchmarkReporter::Run;

/// What is reported of each row.
enum class row_choice { aggregates, rounds_and_aggregates };

namespace detail {

struct aggregate {
  std::string name;
  benchmark::StatisticUnit unit;
  double (*of)(const std::vector<double>&);
};

[[nodiscard]] inline double median_of(const std::vector<double>& v) { return stats::median(v); }
/// `text` as UTF-8 without control characters: Google Benchmark writes them into JSON unescaped.
[[nodiscard]] std::string printable(std::string text);

/// The measurements of one row, one per round, in the order of rounds.
using rounds = std::vector<const result::measurement*>;

/// `measured`, grouped by row; the rows stand in the order in which they first occur.
[[nodiscard]] std::vector<rounds> by_row(const std::vector<result::measurement>& measured);

/// Marks `run` as failed. Google Benchmark 1.8 renamed the members; templates, since a member that
/// a version lacks may be named in them alone.
template <class Run>
void set_error(Run& run, const std::string& why) {
  if constexpr (requires { run.error_occurred; }) {
    run.error_occurred = true;
    run.error_message = why;
  } else {
    run.skipped = decltype(run.skipped)::SkippedWithError;
    run.skip_message = why;
  }
}
template <class Run>
[[nodiscard]] bool has_error(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred;
  } else {
    return run.skipped == decltype(run.skipped)::SkippedWithError;
  }
}

}  // namespace detail

/// Converts `rows` to Google Benchmark's runs, in the order of their first round. `time_unit` is
/// ns, us, ms or s; empty: ns.
[[nodiscard]] std::vector<google_run> to_runs(const std::vector<result::measurement>& rows,
                                              row_choice choice, std::string_view time_unit = {});

/// The context of a result file, by field name.
using context_fields = std::map<std::string, std::string, std::less<>>;

/// How a report looks.
struct output_format {
  std::string format;    ///< json, csv or console
  bool color = false;    ///< of the console
  bool tabular = false;  ///< counters as columns on the console
};

/// Formats `runs` with Google Benchmark's reporter; JSON gets `context` beside the reporter's own.
[[nodiscard]] std::string render(std::vector<google_run> runs, const output_format& form,
                                 const context_fields& context = {});

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/google_formats-inl.hpp>
#endif
