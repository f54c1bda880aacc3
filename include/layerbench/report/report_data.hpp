// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/analysis/predict/validation_text.hpp>
#include <layerbench/base/error.hpp>

/// What a report says, whatever its form.
namespace layerbench::report {

/// All that result files say of some cases; `files` must outlive it.
struct report_data {
  std::span<const result::results> files;
  std::vector<analysis::prediction> predictions;
  analysis::validation validation;             ///< of those of the cases that have a chain
  std::vector<analysis::time_series> history;  ///< of those that files of several dates hold
  std::vector<analysis::measured_contention> contentions = {};
  /// Of files whose contexts differ, new, with those of the first context, old.
  std::vector<analysis::comparison> comparisons = {};
  std::vector<std::string> uncompared = {};  ///< why there is none of some files; a sentence each

  [[nodiscard]] bool has_comparison() const { return !comparisons.empty() || !uncompared.empty(); }
  [[nodiscard]] bool has_validation() const {
    return !validation.cases.empty() || !validation.left_out.empty();
  }
  [[nodiscard]] bool has_peaks() const {
    return std::ranges::any_of(predictions,
                               [](const auto& item) { return item.limits.has_value(); });
  }
};

namespace detail {

/// Compares files that are kept apart, as `layerbench compare` does.
inline void compare_groups(report_data& created) {
  const std::vector<analysis::group> groups = analysis::group_by_context(created.files);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    try {
      created.comparisons.push_back(analysis::compare(groups.front(), groups[i]));
    } catch (const error& e) {  // of more than one thing, or nothing in common
      created.uncompared.push_back(fmt::format("not compared; layerbench compare: {}", e.what()));
    }
  }
}

}  // namespace detail

/// Throws what predict() throws.
[[nodiscard]] inline report_data digest_of(std::span<const result::results> files,
                                           const analysis::options& chosen = {}) {
  report_data result{files, analysis::predict(files, chosen), {}, {}};
  result.contentions = analysis::contentions(files, chosen);
  const auto other = [&](const result::configuration_name& configuration) {
    return std::ranges::find(result.predictions, analysis::without_all_reduces(configuration),
                             &analysis::prediction::configuration) == result.predictions.end();
  };
  if (std::ranges::any_of(files, [](const auto& file) { return !file.chains.empty(); })) {
    result.validation = analysis::validate(files, chosen);
    std::erase_if(result.validation.cases,
                  [&](const auto& entry) { return other(entry.predicted.configuration); });
    std::erase_if(result.validation.left_out,
                  [&](const auto& element) { return other(element.configuration); });
  }
  if (files.size() > 1) result.history = analysis::history(files, chosen);
  std::erase_if(result.history, [&](const auto& item) { return other(item.configuration); });
  detail::compare_groups(result);
  return result;
}

/// How to read a report; a sentence each.
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
        "A layer's peak is the least time that its arithmetic, the bytes that it moves or a call "
        "as such take on this machine (bench_peak); the longest of them is what bounds it. A layer "
        "may be above 100 %: some algorithms do fewer operations than are counted.");
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

/// The lines of `text`, without the blanks they begin with.
[[nodiscard]] inline std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> all;
  for (std::string_view name : result::detail::split(text, '\n')) {
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    if (!name.empty()) all.emplace_back(name);
  }
  return all;
}

/// What a reader of a case's numbers must not miss, in as few words as possible.
[[nodiscard]] inline std::string marks(const analysis::prediction& p) {
  std::vector<std::string> words;
  for (const auto& [name, value] : p.configuration.parameters) {
    if (name != "phase" && name != "threads") words.push_back(fmt::format("{} {}", name, value));
  }
  if (p.partial()) words.emplace_back("PARTIAL");
  if (disturbed(p)) words.push_back(fmt::format("disturbed {:.0f} %", 100 * p.disturbed));
  if (p.interrupted) words.emplace_back("interrupted");
  if (p.step && p.step->kind != analysis::interval_kind::bootstrap)
    words.emplace_back("few rounds");
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Whether some of the predictions are from other files than the rest, which were kept apart.
[[nodiscard]] inline bool several_sources(std::span<const analysis::prediction> predictions) {
  return std::ranges::any_of(predictions, [&](const analysis::prediction& p) {
    return p.files != predictions.front().files;
  });
}

/// Adds a column before the one at `place`; its cells may be fewer than there are rows.
inline void insert_column(table& to, std::size_t place, const column& title,
                          const std::vector<std::string>& cells) {
  const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(place); };
  to.columns.insert(at(to.columns), title);
  for (std::size_t i = 0; i < to.rows.size(); ++i) {
    to.rows[i].insert(at(to.rows[i]), i < cells.size() ? cells[i] : "");
  }
}

/// What was bad about the machine, in a few words.
[[nodiscard]] inline std::string machine_check(const result::results& file) {
  const std::string words = file.context_value("machine_check").value_or("not checked");
  return words == "fit" || words == "not checked" ? words : "not fit: " + words;
}

}  // namespace detail

/// The summary with what is beside each number: its interval, the naive hot sum, and what to mind.
[[nodiscard]] inline table overview(std::span<const analysis::prediction> predictions) {
  constexpr std::size_t behind_time = 8;
  constexpr std::size_t behind_coverage = 11;  // with those before
  std::vector<std::string> between;
  std::vector<std::string> naive;
  std::vector<std::string> marks;
  std::vector<std::string> files;
  for (const analysis::prediction& p : predictions) {
    between.push_back(p.step ? detail::range_text(p.step->low(), p.step->high()) : "");
    naive.push_back(p.naive_seconds ? detail::milliseconds(*p.naive_seconds) : "");
    marks.push_back(detail::marks(p));
    files.push_back(fmt::format("{}", fmt::join(p.files, ", ")));
  }
  table t = summary(predictions);
  detail::insert_column(t, behind_time, {"between", align::right}, between);
  detail::insert_column(t, behind_time + 1, {"naive ms", align::right}, naive);
  detail::insert_column(t, behind_coverage, {"note"}, marks);
  if (detail::several_sources(predictions)) {
    detail::insert_column(t, t.columns.size(), {"files"}, files);
  }
  return t;
}

/// What a case is called, with its files where others hold it, too.
[[nodiscard]] inline std::string case_title(const report_data& of, const analysis::prediction& p) {
  const std::string title = detail::headline(p);
  return detail::several_sources(of.predictions)
             ? fmt::format("{}: {}", title, fmt::join(p.files, ", "))
             : title;
}

/// The `most` layers that take the largest part of a step, with how sure their times are.
[[nodiscard]] inline table layers(const analysis::prediction& p, std::size_t most = 10) {
  constexpr std::size_t behind_time = 4;
  std::vector<std::string> between;
  for (const analysis::layer_time& layer_time : detail::heaviest_first(p)) {
    if (between.size() == most) break;
    between.push_back(units::duration(layer_time.low) + " to " + units::duration(layer_time.high));
  }
  table t = detail::heaviest(p, most);
  detail::insert_column(t, behind_time, {"between", align::right}, between);
  return t;
}

/// What a case's history is called.
[[nodiscard]] inline std::string course_title(const analysis::time_series& of) {
  return fmt::format("{}, {}, cache:{}", detail::headline(of.configuration, of.threads), of.device,
                     of.cache);
}

/// A row a date: the time, and whether it has changed since the date before.
[[nodiscard]] inline table dates(const analysis::time_series& of) {
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
    const bool sure = before.has_interval() && now.has_interval();
    const char* const same = sure ? "intervals overlap" : "too few rounds";
    t.rows.push_back(
        {now.date, detail::milliseconds(step.seconds), detail::range_text(step.low(), step.high()),
         i == 0 ? "" : detail::signed_percent(analysis::change(before, now)),
         i == 0                           ? ""
         : analysis::changed(before, now) ? "changed"
                                          : same,
         fmt::format("{}", fmt::join(now.differing, " ")), now.predicted.files.front()});
  }
  return t;
}

/// A row a file: when, on what and how well it was measured.
[[nodiscard]] inline table sources(std::span<const result::results> files) {
  table t{{{"file"}, {"date"}, {"device"}, {"threads"}, {"layerbench"}, {"machine"}, {"run"}}, {}};
  for (const result::results& file : files) {
    t.rows.push_back({file.file, file.context_value("date").value_or("not said"), file.device(),
                      file.context_value("threads").value_or(""),
                      file.context_value("layerbench_version").value_or(""),
                      detail::machine_check(file), file.interrupted() ? "interrupted" : "whole"});
  }
  return t;
}

/// What the context of `file` says.
[[nodiscard]] inline table context(const result::results& file) {
  table t{{{"field"}, {"value"}}, {}};
  for (const auto& [name, value] : file.context) t.rows.push_back({name, value});
  return t;
}

/// What to know before believing a number; a sentence each.
[[nodiscard]] inline std::vector<std::string> warnings(const report_data& of) {
  std::vector<std::string> words;
  if (const auto some = std::ranges::count_if(of.predictions, &detail::disturbed); some > 0) {
    words.push_back(
        fmt::format("{} of {} cases {} marked disturbed: something else used the "
                    "processors during more than a tenth of the timings",
                    some, of.predictions.size(), some == 1 ? "is" : "are"));
  }
  for (const analysis::prediction& p : of.predictions) {
    for (const std::string& line : detail::lines(detail::gaps(p))) {
      words.push_back(
          fmt::format("{}: {}{}", detail::headline(p), p.partial() ? "PARTIAL: " : "", line));
    }
  }
  for (const result::results& file : of.files) {
    if (file.interrupted()) {
      words.push_back(file.file + ": measuring was interrupted, so that rounds are missing");
    }
    const std::string machine = detail::machine_check(file);
    if (machine.starts_with("not fit")) words.push_back(file.file + ": the machine was " + machine);
  }
  const std::vector<std::string> apart = analysis::incompatible_files(of.files);
  words.insert(words.end(), apart.begin(), apart.end());
  return words;
}

}  // namespace layerbench::report
