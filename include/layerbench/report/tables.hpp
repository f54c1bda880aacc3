// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/report/report_data.hpp>

/// The tables and sentences of a report, whatever its format.
namespace layerbench::report {

namespace detail {

/// The lines of `text` that are not empty, without leading blanks.
[[nodiscard]] inline std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> found;
  for (std::string_view line : split(text, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) found.emplace_back(line);
  }
  return found;
}

/// The remarks on a case that fit into a table's cell.
[[nodiscard]] inline std::string short_remarks(const analysis::prediction& p, bool disturbed) {
  std::vector<std::string> remarks;
  if (p.partial()) remarks.emplace_back("PARTIAL");
  if (!p.missing.empty()) remarks.push_back("coverage " + format::coverage(p.coverage));
  if (p.step && p.cache == "hot") remarks.push_back(p.method);
  if (disturbed) remarks.emplace_back("disturbed");
  if (p.interrupted) remarks.emplace_back("interrupted");
  if (p.few_rounds()) remarks.emplace_back("few rounds");
  return fmt::format("{}", fmt::join(remarks, ", "));
}

/// The remarks on a case, without what reading() says once for all: that bottlenecks are not known.
[[nodiscard]] inline std::vector<std::string> case_remarks(const analysis::prediction& p) {
  std::vector<std::string> all = lines(analysis::remarks(p));
  if (p.limits) return all;
  const std::vector<std::string> unknown = lines(analysis::limits_text(p));
  std::erase_if(all, [&](const std::string& line) {
    return std::ranges::find(unknown, line) != unknown.end();
  });
  return all;
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

/// `values` without repetitions; of many the first ones and how many others there are.
[[nodiscard]] inline std::string listed(const std::vector<std::string>& values) {
  constexpr std::size_t most = 4;
  std::vector<std::string> distinct;
  for (const std::string& value : values) {
    if (!value.empty() && std::ranges::find(distinct, value) == distinct.end())
      distinct.push_back(value);
  }
  const std::size_t more = distinct.size() - std::min(most, distinct.size());
  distinct.resize(distinct.size() - more);
  return fmt::format("{}{}", fmt::join(distinct, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

/// The first and the last day of the files.
[[nodiscard]] inline std::string days(std::span<const result::results> files) {
  constexpr std::size_t day = 10;  // characters
  std::vector<std::string> all;
  for (const result::results& file : files) {
    if (const auto date = file.context_value("date")) all.push_back(date->substr(0, day));
  }
  if (all.empty()) return "not said";
  const auto [first, last] = std::ranges::minmax(all);
  return first == last ? first : fmt::format("{} to {}", first, last);
}

/// "onednn 3.2.0": the backends of the predictions, with their versions.
[[nodiscard]] inline std::string libraries(const report_data& of) {
  std::vector<std::string> all;
  for (const analysis::prediction& p : of.predictions) {
    const std::string& backend = p.model_case.backend;
    for (const result::results& file : of.files) {
      if (std::ranges::find(p.files, file.file) == p.files.end()) continue;
      const auto version = file.context_value(backend + "_version");
      all.push_back(version ? fmt::format("{} {}", backend, *version) : backend);
    }
  }
  return listed(all);
}

/// The validation of a prediction; null if there is none.
[[nodiscard]] inline const analysis::validated* validation_of(const report_data& of,
                                                              const analysis::prediction& p) {
  const auto found = std::ranges::find_if(of.validation.cases, [&](const auto& entry) {
    return entry.predicted.model_case == p.model_case && entry.predicted.files == p.files;
  });
  return found == of.validation.cases.end() ? nullptr : &*found;
}

/// The prediction of case `i` that is shown: that of the rounds which validated it, where some did.
[[nodiscard]] inline const analysis::prediction& shown_prediction(const report_data& of,
                                                                  std::size_t i) {
  const analysis::validated* const validated = validation_of(of, of.predictions[i]);
  return validated != nullptr ? validated->predicted : of.predictions[i];
}

/// The titles of the cases without what all of them share, and what that is.
[[nodiscard]] inline analysis::headlines case_names(const report_data& of) {
  std::vector<const analysis::prediction*> cases;
  for (const analysis::prediction& p : of.predictions) cases.push_back(&p);
  return analysis::headlines_of(cases);
}

}  // namespace detail

/// What the cases have in common, one fact each: machine, libraries, date, conditions.
[[nodiscard]] inline std::vector<std::string> facts(const report_data& of) {
  std::vector<std::string> devices;
  std::vector<std::string> versions;
  for (const result::results& file : of.files) {
    devices.push_back(file.device());
    if (const auto version = file.context_value("layerbench_version"))
      versions.push_back("layerbench " + *version);
  }
  const std::string by = detail::listed(versions);
  std::vector<std::string> all{
      "machine: " + detail::listed(devices), "library: " + detail::libraries(of),
      "measured: " + detail::days(of.files) + (by.empty() ? "" : ", by " + by)};
  const std::string shared = detail::case_names(of).shared;
  if (!shared.empty()) all.push_back("conditions: " + shared);
  return all;
}

/// The predicted and the measured step of each case. Prediction, measured step and error of a row
/// are of the same rounds.
[[nodiscard]] inline table overview(const report_data& of) {
  using enum align;
  const auto has_text = [](const analysis::prediction& p) { return p.text.has_value(); };
  const bool has_texts = std::ranges::any_of(of.predictions, has_text);
  table t{{{"case"},
           {"predicted ms per step", right},
           {"between", right},
           {"measured ms", right},
           {"error", right},
           {"images/s", right}},
          {}};
  if (has_texts) t.columns.push_back({"tokens/s", right});
  const bool has_memory = std::ranges::any_of(
      of.predictions, [](const analysis::prediction& p) { return p.memory_bytes().has_value(); });
  if (has_memory) t.columns.push_back({"memory", right});
  t.columns.push_back({"note"});
  const bool has_files = detail::several_sources(of.predictions);
  if (has_files) t.columns.push_back({"files"});
  const analysis::headlines names = detail::case_names(of);
  for (std::size_t i = 0; i < of.predictions.size(); ++i) {
    const analysis::validated* const validated = detail::validation_of(of, of.predictions[i]);
    const analysis::prediction& p = detail::shown_prediction(of, i);
    const bool disturbed = validated != nullptr ? validated->disturbed() : p.much_disturbed();
    const auto rate = [&](std::optional<double> of_case) {
      return p.partial() ? "partial" : p.rate_text(of_case);
    };
    std::vector<std::string>& row = t.rows.emplace_back(std::vector{
        names.own[i],
        !p.step ? "refused"
                : (p.partial() ? "> " : "") + format::milliseconds(p.step->seconds, p.digits()),
        p.step ? format::range(p.step->interval(), p.digits()) : "",
        validated == nullptr
            ? ""
            : format::milliseconds(validated->measured.seconds, validated->measured.digits()),
        validated == nullptr ? "" : validated->error_text(p.step->seconds),
        rate(p.images_per_second())});
    if (has_texts) row.push_back(p.text ? rate(p.tokens_per_second()) : "");
    if (has_memory) {
      const auto bytes = of.predictions[i].memory_bytes();
      row.push_back(bytes ? units::si(static_cast<double>(*bytes), "B") : "");
    }
    row.push_back(detail::short_remarks(p, disturbed));
    if (has_files) row.push_back(fmt::format("{}", fmt::join(p.files, ", ")));
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
[[nodiscard]] inline std::string history_title(const analysis::step_series& of) {
  return fmt::format("{}, {}, cache:{}", analysis::headline(of.model_case, of.threads), of.device,
                     of.cache);
}

/// The title of a row's history.
[[nodiscard]] inline std::string history_title(const analysis::layer_series& of) {
  return fmt::format("{}, {}", of.row.name, of.device);
}

namespace detail {

/// Whether the time has changed at point `i`, in words.
[[nodiscard]] inline std::string history_verdict(const analysis::time_series& of, std::size_t i) {
  const auto change = std::ranges::find(of.changes, i, &analysis::change_point::first);
  if (change != of.changes.end()) return analysis::detail::difference_text(change->ratio);
  if (i == 0 || of.is_long()) return "";
  if (of.change_at(i)) return "changed";
  const bool comparable =
      of.points[i - 1].has_confidence_interval && of.points[i].has_confidence_interval;
  return comparable ? "intervals overlap" : "too few rounds";
}

}  // namespace detail

/// One row per date: the time, and whether it changed.
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
    t.rows.push_back({now.date, format::milliseconds(now.time.seconds, now.digits),
                      format::range(now.between, now.digits),
                      i == 0 ? "" : format::signed_percent(analysis::change(of.points[i - 1], now)),
                      detail::history_verdict(of, i),
                      fmt::format("{}", fmt::join(now.differing, " ")), now.file});
  }
  return t;
}

/// One row per file: its date, device and machine conditions.
[[nodiscard]] inline table files_table(std::span<const result::results> files) {
  table t{{{"file"}, {"date"}, {"device"}, {"layerbench"}, {"machine"}, {"run"}}, {}};
  for (const result::results& file : files) {
    t.rows.push_back({file.file, file.context_value("date").value_or("not said"), file.device(),
                      file.context_value("layerbench_version").value_or(""),
                      detail::machine_check(file), file.interrupted() ? "interrupted" : "whole"});
  }
  return t;
}

/// The context of `file`, one row per field. How Google Benchmark's library was built is left out:
/// "debug" would alarm, but no timing depends on it.
[[nodiscard]] inline table context_table(const result::results& file) {
  table t{{{"field"}, {"value"}}, {}};
  for (const auto& [name, value] : file.context) {
    if (name != "library_build_type") t.rows.push_back({name, value});
  }
  return t;
}

/// What the facts of a machine check mean that are bad in any of the files, one sentence each.
[[nodiscard]] inline std::vector<std::string> machine_check_meanings(
    std::span<const result::results> files) {
  using meaning = std::pair<std::string_view, std::string_view>;
  constexpr std::array meanings{
      meaning{"load", "other programs left fewer processors than the threads need"},
      meaning{"steal", "the host of the virtual machine took processor time"},
      meaning{"speed",
              "neighbours on the same cores slowed the processors down for much of the "
              "time; timings at the usual speed count"},
      meaning{"frequency", "the processors were held at their lowest rate"},
      meaning{"cores",
              "a message from core to core takes long although both share a cache; small "
              "layers on several threads vary"},
      meaning{"binding", "there were more threads than processors"},
      meaning{"memory", "little memory was left for the largest case"},
      meaning{"clock", "the clock is too coarse for short calls"}};
  std::vector<std::string> sentences;
  for (const auto& [name, text] : meanings) {
    const bool is_bad = std::ranges::any_of(files, [&](const result::results& file) {
      const std::vector<std::string_view> bad =
          split(file.context_value("machine_check").value_or(""), ' ');
      return std::ranges::find(bad, name) != bad.end();
    });
    if (is_bad) sentences.push_back(fmt::format("Machine check, {}: {}.", name, text));
  }
  return sentences;
}

/// How to read a report, one sentence each.
[[nodiscard]] inline std::vector<std::string> reading(const report_data& of) {
  std::vector<std::string> sentences{
      // NOLINTBEGIN(bugprone-suspicious-missing-comma): sentences are longer than lines
      "A step is what a model runs for one batch. Its predicted time is the sum of its layers' "
      "times, each timed alone and counted as often as the step runs it. images/s is the batch "
      "divided by this time.",
      "The measured step ran as a whole, beside the layers. The error is predicted time by "
      "measured time, minus 1. No prediction uses the measured step.",
      "cache:model: each layer found its operands as cached as in the model, weights as a whole "
      "step leaves them and sources just written.",
      "The naive hot sum adds up timings of layers that ran again and again on the same operands. "
      "It is usually too low, but it is no lower bound: it may also be too high.",
      "\"Between\" is the interval of a time: 95 % over the rounds, or with fewer than five rounds "
      "the least and the largest. For a sum of cache:model timings it also has the usual error of "
      "such sums. Fewer than five rounds, most of them disturbed, give none.",
      "~: rounded, as most timings were disturbed. The numbers of single layers and ops are not "
      "rounded, but no more certain.",
      "Count: calls of a layer in a step. Equal layers are timed once, under the first one's name. "
      "No padding: products with the zeros of a padding are not counted.",
      "The threads of a case are those that its layers ran on. The field threads of a file's "
      "context is only for rows without a thread count in their names.",
      "Disturbed: something else used the processors during more than a tenth of the timings. "
      "Refused: layers were not measured; measure them. Partial: layers, or nodes that the import "
      "left out, are missing, so the time is too short."};
  // NOLINTEND(bugprone-suspicious-missing-comma)
  if (of.has_peaks()) {
    sentences.emplace_back(
        "Each layer has three lower bounds on this machine (bench_peak): compute, memory traffic "
        "and call overhead. The largest is its bottleneck. A layer may be above 100 %: some "
        "algorithms do fewer operations than are counted.");
  } else {
    sentences.emplace_back(
        "Bottlenecks of layers are not known without peaks: bench_peak measures them, and --peaks "
        "reads them.");
  }
  if (!of.comparisons.empty()) {
    sentences.emplace_back(
        "Comparisons are of all rows of the files, whichever cases the report is of. A ratio is "
        "new time by old time. Same: its interval lies inside the margin. Faster or slower: it is "
        "surely not 1, all compared layers or models considered.");
  }
  for (std::string& sentence : machine_check_meanings(of.files)) {
    sentences.push_back(std::move(sentence));
  }
  return sentences;
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
