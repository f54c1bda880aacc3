// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/predict/breakdown.hpp>
#include <layerbench/analysis/predict/layer_table.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/report_data.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>

/// The tables and sentences of a report, whatever its format.
namespace layerbench::report {

using analysis::report_data;

/// How to read a report, one sentence each.
[[nodiscard]] inline std::vector<std::string> reading(const report_data& of) {
  std::vector<std::string> sentences{
      "A step is what a model runs for one batch: its time is the sum of its layers' times, each "
      "timed alone and counted as often as the step runs it, and images/s is the batch divided by "
      "it.",
      "With cache:model each layer found its operands as cached as they are in the model: weights "
      "as cold as a whole step leaves them, sources just written; the naive hot sum is of layers "
      "that ran again and again on the same operands, and so a lower bound.",
      "\"Between\" is how sure the rounds of measuring make a time (95 %; with fewer than five "
      "rounds the least and the largest), for a sum of cache:model timings widened by how far such "
      "sums are from steps that ran as a whole.",
      "Where something else used the processors a case is marked disturbed, and where layers were "
      "not measured partial or refused: measure those again before you conclude anything."};
  if (of.has_peaks()) {
    sentences.emplace_back(
        "Each layer has three lower bounds on this machine (bench_peak): compute, memory traffic "
        "and "
        "call overhead. The largest is its bottleneck. A layer may be above 100 %: some algorithms "
        "do fewer operations than are counted.");
  }
  if (!of.comparisons.empty()) {
    sentences.emplace_back(
        "Comparisons are of all rows of the files, whichever cases the report is of. A ratio is "
        "new "
        "time by old time; same means that its interval lies inside the margin; faster and slower "
        "that it is surely not 1, all layers or models that are compared considered.");
  }
  return sentences;
}

namespace detail {

/// The lines of `text` that are not empty, without leading blanks.
[[nodiscard]] inline std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> found;
  for (std::string_view line : result::detail::split(text, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) found.emplace_back(line);
  }
  return found;
}

/// The remarks on a case that fit into a table's cell.
[[nodiscard]] inline std::string short_remarks(const analysis::prediction& p) {
  std::vector<std::string> remarks;
  for (const auto& [name, value] : p.configuration.parameters) {
    if (name != "phase" && name != "threads") remarks.push_back(fmt::format("{} {}", name, value));
  }
  if (p.partial()) remarks.emplace_back("PARTIAL");
  if (p.much_disturbed()) remarks.push_back(fmt::format("disturbed {:.0f} %", 100 * p.disturbed));
  if (p.interrupted) remarks.emplace_back("interrupted");
  if (p.step && p.step->kind != analysis::interval_method::bootstrap)
    remarks.emplace_back("few rounds");
  return fmt::format("{}", fmt::join(remarks, ", "));
}

/// Whether the predictions come from several sets of files, whose contexts differ.
[[nodiscard]] inline bool several_sources(std::span<const analysis::prediction> predictions) {
  return std::ranges::any_of(predictions, [&](const analysis::prediction& p) {
    return p.files != predictions.front().files;
  });
}

/// Inserts a column at `position`. Rows beyond the given cells get an empty cell.
inline void insert_column(table& to, std::size_t position, const column& title,
                          const std::vector<std::string>& cells) {
  const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(position); };
  to.columns.insert(at(to.columns), title);
  for (std::size_t i = 0; i < to.rows.size(); ++i) {
    to.rows[i].insert(at(to.rows[i]), i < cells.size() ? cells[i] : "");
  }
}

/// The result of the machine check.
[[nodiscard]] inline std::string machine_check(const result::results& file) {
  const std::string verdict = file.context_value("machine_check").value_or("not checked");
  return verdict == "fit" || verdict == "not checked" ? verdict : "not fit: " + verdict;
}

}  // namespace detail

/// The summary of all predictions with their intervals, naive hot sums and remarks.
[[nodiscard]] inline table overview(std::span<const analysis::prediction> predictions) {
  constexpr std::size_t behind_time = 8;
  constexpr std::size_t behind_coverage = 11;  // counting the two inserted before
  std::vector<std::string> between;
  std::vector<std::string> naive;
  std::vector<std::string> remarks;
  std::vector<std::string> files;
  for (const analysis::prediction& p : predictions) {
    between.push_back(p.step ? format::range(p.step->low(), p.step->high(), p.digits()) : "");
    naive.push_back(p.hot_sum_seconds ? format::milliseconds(*p.hot_sum_seconds) : "");
    remarks.push_back(detail::short_remarks(p));
    files.push_back(fmt::format("{}", fmt::join(p.files, ", ")));
  }
  table t = analysis::summary(predictions);
  detail::insert_column(t, behind_time, {"between", align::right}, between);
  detail::insert_column(t, behind_time + 1, {"naive ms", align::right}, naive);
  detail::insert_column(t, behind_coverage, {"note"}, remarks);
  if (detail::several_sources(predictions)) {
    detail::insert_column(t, t.columns.size(), {"files"}, files);
  }
  return t;
}

/// The title of a case, with its files if other files have the same case.
[[nodiscard]] inline std::string case_title(const report_data& of, const analysis::prediction& p) {
  std::string title = analysis::headline(p);
  return detail::several_sources(of.predictions)
             ? fmt::format("{}: {}", title, fmt::join(p.files, ", "))
             : title;
}

/// The `most` layers with the largest shares of the step, with the intervals of their times.
[[nodiscard]] inline table layers_table(const analysis::prediction& p, std::size_t most = 10) {
  constexpr std::size_t behind_time = 4;
  std::vector<std::string> between;
  for (const analysis::layer_time& layer : analysis::heaviest_first(p)) {
    if (between.size() == most) break;
    between.push_back(units::duration(layer.low) + " to " + units::duration(layer.high));
  }
  table t = analysis::heaviest_layers(p, most);
  detail::insert_column(t, behind_time, {"between", align::right}, between);
  return t;
}

/// The title of a case's history.
[[nodiscard]] inline std::string history_title(const analysis::time_series& of) {
  return fmt::format("{}, {}, cache:{}", analysis::headline(of.configuration, of.threads),
                     of.device, of.cache);
}

/// One row per date: the time, and whether it changed since the previous date.
[[nodiscard]] inline table history_table(const analysis::time_series& of) {
  table t{{{"date"},
           {"ms/step", align::right},
           {"between", align::right},
           {"since before", align::right},
           {"verdict"},
           {"context that differs"},
           {"file"}},
          {}};
  for (std::size_t i = 0; i < of.points.size(); ++i) {
    const analysis::history_point& now = of.points[i];
    const analysis::history_point& before = of.points[i == 0 ? 0 : i - 1];
    const analysis::step_time& step = *now.predicted.step;
    const bool comparable = before.has_confidence_interval() && now.has_confidence_interval();
    const char* const unchanged = comparable ? "intervals overlap" : "too few rounds";
    t.rows.push_back({now.date, format::milliseconds(step.seconds, now.predicted.digits()),
                      format::range(step.low(), step.high(), now.predicted.digits()),
                      i == 0 ? "" : format::signed_percent(analysis::change(before, now)),
                      i == 0                           ? ""
                      : analysis::changed(before, now) ? "changed"
                                                       : unchanged,
                      fmt::format("{}", fmt::join(now.differing, " ")),
                      now.predicted.files.front()});
  }
  return t;
}

/// One row per file: its date, device and machine conditions.
[[nodiscard]] inline table files_table(std::span<const result::results> files) {
  table t{{{"file"}, {"date"}, {"device"}, {"threads"}, {"layerbench"}, {"machine"}, {"run"}}, {}};
  for (const result::results& file : files) {
    t.rows.push_back({file.file, file.context_value("date").value_or("not said"), file.device(),
                      file.context_value("threads").value_or(""),
                      file.context_value("layerbench_version").value_or(""),
                      detail::machine_check(file), file.interrupted() ? "interrupted" : "whole"});
  }
  return t;
}

/// The context of `file`, one row per field.
[[nodiscard]] inline table context_table(const result::results& file) {
  table t{{{"field"}, {"value"}}, {}};
  for (const auto& [name, value] : file.context) t.rows.push_back({name, value});
  return t;
}

/// Reservations about the numbers, one sentence each.
[[nodiscard]] inline std::vector<std::string> warnings(const report_data& of) {
  std::vector<std::string> sentences;
  if (const auto count =
          std::ranges::count_if(of.predictions, &analysis::prediction::much_disturbed);
      count > 0) {
    sentences.push_back(
        fmt::format("{} of {} cases {} marked disturbed: something else used the "
                    "processors during more than a tenth of the timings",
                    count, of.predictions.size(), count == 1 ? "is" : "are"));
  }
  for (const analysis::prediction& p : of.predictions) {
    for (const std::string& line : detail::lines(analysis::gaps_text(p))) {
      sentences.push_back(
          fmt::format("{}: {}{}", analysis::headline(p), p.partial() ? "PARTIAL: " : "", line));
    }
  }
  for (const result::results& file : of.files) {
    if (file.interrupted()) {
      sentences.push_back(file.file + ": measuring was interrupted, so that rounds are missing");
    }
    const std::string machine = detail::machine_check(file);
    if (machine.starts_with("not fit"))
      sentences.push_back(file.file + ": the machine was " + machine);
  }
  const std::vector<std::string> incompatible = analysis::incompatible_files(of.files);
  sentences.insert(sentences.end(), incompatible.begin(), incompatible.end());
  return sentences;
}

}  // namespace layerbench::report
