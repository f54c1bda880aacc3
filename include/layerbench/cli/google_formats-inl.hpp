// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/cli/google_formats.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::run {

namespace detail {

[[nodiscard]] inline double relative_stddev(const std::vector<double>& v) {
  return stats::mean(v) == 0 ? 0 : stats::stddev(v) / stats::mean(v);
}

LAYERBENCH_INLINE std::string printable(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' && c != '\n'; }, ' ');
  using json = nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

LAYERBENCH_INLINE std::vector<rounds> by_row(const std::vector<result::measurement>& measured) {
  std::vector<rounds> all;
  std::map<result::row_name, std::size_t> index;
  for (const result::measurement& measurement : measured) {
    const auto [found, is_new] = index.try_emplace(measurement.name, all.size());
    if (is_new) all.emplace_back();
    all[found->second].push_back(&measurement);
  }
  for (rounds& row : all) std::ranges::stable_sort(row, {}, &result::measurement::round);
  return all;
}

/// ns, us, ms or s; nanoseconds for any other text.
[[nodiscard]] inline benchmark::TimeUnit time_unit(std::string_view name) {
  for (const auto unit : {benchmark::kMicrosecond, benchmark::kMillisecond, benchmark::kSecond}) {
    if (name == benchmark::GetTimeUnitString(unit)) return unit;
  }
  return benchmark::kNanosecond;
}

/// The time of `calls` calls from which a reader of Google Benchmark's output gets `seconds` back,
/// as nearly as possible: `seconds * calls` would be some units in the last place off, and rows
/// that are read and written often would drift.
[[nodiscard]] inline double accumulated_time(double seconds, std::int64_t calls,
                                             benchmark::TimeUnit unit) {
  const double per_second = benchmark::GetTimeUnitMultiplier(unit);
  const auto count = static_cast<double>(calls);
  const auto off = [&](double total) {
    return std::abs(total * per_second / count / per_second - seconds);
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr int neighbours = 2;  // on each side: enough for all of 240,000 random times
  double best = seconds * count;
  double below = best;
  double above = best;
  for (int i = 0; i < neighbours; ++i) {
    below = std::nextafter(below, -infinite);
    above = std::nextafter(above, infinite);
    best = std::min({best, below, above}, [&](double a, double b) { return off(a) < off(b); });
  }
  return best;
}

[[nodiscard]] inline google_run round_run(const result::measurement& row, std::size_t family,
                                          std::size_t repetitions, benchmark::TimeUnit unit) {
  google_run run;
  run.run_name.function_name = row.name.text();
  run.family_index = static_cast<std::int64_t>(family);
  run.per_family_instance_index = 0;
  run.repetition_index = row.round;
  run.repetitions = static_cast<std::int64_t>(repetitions);
  run.report_label = printable(row.label.text());
  if (!row.error.empty()) set_error(run, printable(row.error));
  run.time_unit = unit;  // of all rows: compare.py leaves out rows whose units differ
  run.statistics = nullptr;
  run.iterations = row.calls;
  run.real_accumulated_time = accumulated_time(row.seconds, row.calls, unit);
  run.cpu_accumulated_time = accumulated_time(row.cpu_seconds, row.calls, unit);
  for (const auto& [name, value] : row.counters) {
    if (std::isfinite(value)) run.counters[name] = value;  // JSON has no other numbers
  }
  return run;
}

[[nodiscard]] inline google_run aggregate_run(const rounds& rows, google_run run,
                                              const aggregate& how) {
  const auto gather = [&](auto&& value) {
    std::vector<double> values;
    for (const result::measurement* row : rows) {
      if (const std::optional<double> number = value(*row)) values.push_back(*number);
    }
    return values.empty() ? 0 : how.of(values);
  };
  using row = result::measurement;
  run.run_type = google_run::RT_Aggregate;
  run.aggregate_name = how.name;
  run.aggregate_unit = how.unit;
  run.iterations = static_cast<std::int64_t>(rows.size());
  // Google Benchmark's reporters divide times by the iterations, percentages not.
  const double scale = how.unit == benchmark::kPercentage ? 1 : static_cast<double>(run.iterations);
  const auto seconds = [](const row& r) { return std::optional(r.seconds); };
  const auto cpu_seconds = [](const row& r) { return std::optional(r.cpu_seconds); };
  run.real_accumulated_time = gather(seconds) * scale;
  run.cpu_accumulated_time = gather(cpu_seconds) * scale;
  for (auto& [name, counter] : run.counters) {
    counter.value = gather([&, field = name](const row& r) -> std::optional<double> {
      const auto found = r.counters.find(field);
      const bool there = found != r.counters.end() && std::isfinite(found->second);
      return there ? std::optional(found->second) : std::nullopt;
    });
  }
  return run;
}

[[nodiscard]] inline std::vector<google_run> aggregate_runs(const rounds& rows,
                                                            const google_run& first) {
  static const std::vector<aggregate> all{{"mean", benchmark::kTime, &stats::mean},
                                          {"median", benchmark::kTime, &median_of},
                                          {"stddev", benchmark::kTime, &stats::stddev},
                                          {"cv", benchmark::kPercentage, &relative_stddev}};
  std::vector<google_run> runs;
  if (rows.size() < 2) return runs;  // as Google Benchmark does
  for (const aggregate& statistic : all) {
    runs.push_back(aggregate_run(rows, first, statistic));
  }
  return runs;
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<google_run> to_runs(const std::vector<result::measurement>& rows,
                                                  row_choice choice, std::string_view time_unit) {
  const benchmark::TimeUnit unit = detail::time_unit(time_unit);
  const std::vector<detail::rounds> all = detail::by_row(rows);
  std::vector<google_run> runs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const detail::rounds& row = all[i];
    const auto failed =
        std::ranges::find_if_not(row, &std::string::empty, &result::measurement::error);
    if (failed != row.end()) {
      runs.push_back(detail::round_run(**failed, i, row.size(), unit));
      continue;
    }
    std::vector<google_run> singles;
    for (const result::measurement* measurement : row) {
      singles.push_back(detail::round_run(*measurement, i, row.size(), unit));
    }
    const std::vector<google_run> summed = detail::aggregate_runs(row, singles.front());
    if (choice == row_choice::rounds_and_aggregates || summed.empty()) {
      runs.insert(runs.end(), singles.begin(), singles.end());
    }
    runs.insert(runs.end(), summed.begin(), summed.end());
  }
  return runs;
}

namespace detail {

/// Adds `fields` to the context of Google Benchmark's JSON. AddCustomContext() is no alternative:
/// its map is global, and entries can be neither changed nor removed.
[[nodiscard]] inline std::string with_context(std::string text, const context_fields& fields) {
  constexpr std::string_view begin = "\"context\": {\n";
  const std::size_t found = text.find(begin);
  if (found == std::string::npos) throw error("Google Benchmark's JSON has no context");
  std::string lines;
  for (const auto& [name, value] : fields) {
    lines +=
        fmt::format("    {}: {},\n", nlohmann::json(name).dump(), nlohmann::json(value).dump());
  }
  return text.insert(found + begin.size(), lines);
}

/// Runs for Google Benchmark's CSV, which takes a cv for seconds and knows no rounds: the cv stays
/// a number, and rounds get a column.
[[nodiscard]] inline std::vector<google_run> for_csv(std::vector<google_run> runs) {
  for (google_run& run : runs) {
    const bool is_round = run.run_type == google_run::RT_Iteration;
    if (is_round && !has_error(run)) {
      run.counters["round"] = static_cast<double>(run.repetition_index);
    }
    if (is_round || run.aggregate_unit != benchmark::kPercentage) continue;
    const double to_unit = benchmark::GetTimeUnitMultiplier(run.time_unit);
    run.real_accumulated_time *= static_cast<double>(run.iterations) / to_unit;
    run.cpu_accumulated_time *= static_cast<double>(run.iterations) / to_unit;
  }
  return runs;
}

}  // namespace detail

LAYERBENCH_INLINE std::string render(std::vector<google_run> runs, const output_format& form,
                                     const context_fields& context) {
  std::unique_ptr<benchmark::BenchmarkReporter> reporter;
  if (form.format == "json") {
    reporter = std::make_unique<benchmark::JSONReporter>();
  } else if (form.format == "csv") {
    runs = detail::for_csv(std::move(runs));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    reporter = std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  } else {
    using console = benchmark::ConsoleReporter;
    reporter = std::make_unique<console>(static_cast<console::OutputOptions>(
        (form.color ? console::OO_Color : 0) | (form.tabular ? console::OO_Tabular : 0)));
  }
  std::ostringstream text;
  std::ostringstream header;  // of the console format: goes to stderr with the context
  reporter->SetOutputStream(&text);
  reporter->SetErrorStream(&header);
  benchmark::BenchmarkReporter::Context own;
  own.name_field_width = 10;
  for (const google_run& run : runs) {
    own.name_field_width = std::max(own.name_field_width, run.benchmark_name().size());
  }
  reporter->ReportContext(own);
  if (!runs.empty()) reporter->ReportRuns(runs);
  reporter->Finalize();
  return form.format == "json" ? detail::with_context(text.str(), context) : text.str();
}

}  // namespace layerbench::run
