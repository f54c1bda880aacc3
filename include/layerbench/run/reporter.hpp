// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <layerbench/base/stats.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/measurement.hpp>

/// Results in Google Benchmark's own formats, written by its own reporters.
namespace layerbench::run {

using google_run = benchmark::BenchmarkReporter::Run;

/// Which rows of a case are reported.
enum class row_choice { summary, aggregates, rounds_and_aggregates };

namespace detail {

struct aggregate {
  std::string name;
  benchmark::StatisticUnit unit;
  double (*of)(const std::vector<double>&);
};

[[nodiscard]] inline double median_of(const std::vector<double>& v) { return stats::median(v); }
[[nodiscard]] inline double relative_stddev(const std::vector<double>& v) {
  return stats::mean(v) == 0 ? 0 : stats::stddev(v) / stats::mean(v);
}

/// `text` as UTF-8 without control characters, which Google Benchmark would put into JSON as they
/// are.
[[nodiscard]] inline std::string printable(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }, ' ');
  using json = nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

[[nodiscard]] inline benchmark::TimeUnit unit_for(double seconds) {
  if (seconds < 1e-6) return benchmark::kNanosecond;
  if (seconds < 1e-3) return benchmark::kMicrosecond;
  return seconds < 1 ? benchmark::kMillisecond : benchmark::kSecond;
}

/// The rows of one case, in the order of rounds.
using rounds = std::vector<const result::measurement*>;

[[nodiscard]] inline google_run round_run(const result::measurement& row, std::size_t family,
                                          std::size_t repetitions, benchmark::TimeUnit unit) {
  google_run run;
  run.run_name.function_name = row.name.text();
  run.family_index = static_cast<std::int64_t>(family);
  run.per_family_instance_index = 0;
  run.repetition_index = row.round;
  run.repetitions = static_cast<std::int64_t>(repetitions);
  run.report_label = printable(row.label.text());
  run.error_occurred = !row.error.empty();
  run.error_message = printable(row.error);
  run.time_unit = unit;
  run.statistics = nullptr;
  run.iterations = row.calls;
  run.real_accumulated_time = row.seconds * static_cast<double>(row.calls);
  run.cpu_accumulated_time = row.cpu_seconds * static_cast<double>(row.calls);
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
      if (const std::optional<double> each = value(*row)) values.push_back(*each);
    }
    return values.empty() ? 0 : how.of(values);
  };
  using row = result::measurement;
  run.run_type = google_run::RT_Aggregate;
  run.aggregate_name = how.name;
  run.aggregate_unit = how.unit;
  run.iterations = static_cast<std::int64_t>(rows.size());
  // A reporter divides times, but not percentages, by the iterations.
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
  for (const aggregate& each : all) runs.push_back(aggregate_run(rows, first, each));
  return runs;
}

/// One line for people: the median round, and what they read off a row.
[[nodiscard]] inline google_run summary_run(const rounds& rows, google_run run) {
  std::vector<double> seconds;
  std::int64_t calls = 0;
  for (const result::measurement* row : rows) {
    seconds.push_back(row->seconds);
    calls += row->calls;
  }
  const double median = stats::median(seconds);
  const auto [least, most] = std::ranges::minmax(seconds);
  std::vector<double> cpu;
  for (const result::measurement* row : rows) cpu.push_back(row->cpu_seconds);
  run.iterations = calls;
  run.real_accumulated_time = median * static_cast<double>(calls);
  run.cpu_accumulated_time = stats::median(cpu) * static_cast<double>(calls);
  const benchmark::UserCounters all = std::move(run.counters);
  run.counters.clear();
  run.counters["count"] = all.at("count");
  run.counters["FLOP/s"] = all.at("flops") / median;
  run.counters["B/s"] = all.at("bytes") / median;
  run.counters["spread_%"] = 100 * (most - least) / median;
  run.report_label = rows.front()->label.algorithm;
  return run;
}

}  // namespace detail

/// Google Benchmark's form of `rows`, the cases in the order of their first row.
[[nodiscard]] inline std::vector<google_run> to_runs(const std::vector<result::measurement>& rows,
                                                     row_choice choice) {
  std::vector<detail::rounds> cases;
  std::map<result::row_name, std::size_t> index;
  for (const result::measurement& row : rows) {
    const auto [found, is_new] = index.try_emplace(row.name, cases.size());
    if (is_new) cases.emplace_back();
    cases[found->second].push_back(&row);
  }
  std::vector<google_run> runs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    detail::rounds& of_case = cases[i];
    std::ranges::sort(of_case, {}, &result::measurement::round);
    const auto failed =
        std::ranges::find_if_not(of_case, &std::string::empty, &result::measurement::error);
    if (failed != of_case.end()) {
      runs.push_back(detail::round_run(**failed, i, of_case.size(), benchmark::kNanosecond));
      continue;
    }
    // compare.py leaves out rows whose units differ, so only people get the unit that fits.
    const benchmark::TimeUnit unit = choice == row_choice::summary
                                         ? detail::unit_for(of_case.front()->seconds)
                                         : benchmark::kNanosecond;
    std::vector<google_run> singles;
    for (const result::measurement* row : of_case) {
      singles.push_back(detail::round_run(*row, i, of_case.size(), unit));
    }
    if (choice == row_choice::summary) {
      runs.push_back(detail::summary_run(of_case, singles.front()));
      continue;
    }
    const std::vector<google_run> summed = detail::aggregate_runs(of_case, singles.front());
    if (choice == row_choice::rounds_and_aggregates || summed.empty()) {
      runs.insert(runs.end(), singles.begin(), singles.end());
    }
    runs.insert(runs.end(), summed.begin(), summed.end());
  }
  return runs;
}

/// `runs` as the text of a Google Benchmark report in `format`: json, csv or console.
[[nodiscard]] inline std::string render(const std::vector<google_run>& runs,
                                        std::string_view format, bool color, bool tabular) {
  std::unique_ptr<benchmark::BenchmarkReporter> reporter;
  if (format == "json") {
    reporter = std::make_unique<benchmark::JSONReporter>();
  } else if (format == "csv") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    reporter = std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  } else {
    using console = benchmark::ConsoleReporter;
    reporter = std::make_unique<console>(static_cast<console::OutputOptions>(
        (color ? console::OO_Color : 0) | (tabular ? console::OO_Tabular : 0)));
  }
  std::ostringstream text;
  std::ostringstream header;  // of the console format: goes to stderr with the context
  reporter->SetOutputStream(&text);
  reporter->SetErrorStream(&header);
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = 10;
  for (const google_run& run : runs) {
    context.name_field_width = std::max(context.name_field_width, run.benchmark_name().size());
  }
  reporter->ReportContext(context);
  if (!runs.empty()) reporter->ReportRuns(runs);
  reporter->Finalize();
  return text.str();
}

}  // namespace layerbench::run
