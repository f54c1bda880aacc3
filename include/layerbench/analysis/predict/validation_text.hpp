// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/base/table.hpp>

/// Predictions against measured steps, for people, for programs and as CSV.
namespace layerbench::report {

namespace detail {

/// The numbers of a case, by their names in JSON and CSV.
[[nodiscard]] inline std::vector<std::pair<std::string, std::optional<double>>> numbers(
    const analysis::validated& item) {
  const analysis::step_time& step = *item.predicted.step;
  return {{"predicted_seconds", step.seconds},
          {"predicted_low", step.low()},
          {"predicted_high", step.high()},
          {"measured_seconds", item.measured.seconds},
          {"measured_low", item.measured.low},
          {"measured_high", item.measured.high},
          {"error", item.error()},
          {"naive_seconds", item.predicted.naive_seconds},
          {"naive_error", item.naive_error()}};
}

[[nodiscard]] inline std::optional<analysis::error_summary> errors(
    const analysis::validation& all) {
  std::vector<double> values;
  for (const analysis::validated& validated : all.cases) values.push_back(validated.error());
  return analysis::summarize(values);
}

[[nodiscard]] inline std::optional<analysis::error_summary> naive_errors(
    const analysis::validation& all) {
  std::vector<double> values;
  for (const analysis::validated& validated : all.cases) {
    if (const auto error = validated.naive_error()) values.push_back(*error);
  }
  return analysis::summarize(values);
}

/// Share of the cases whose predicted interval holds the measured time.
[[nodiscard]] inline std::optional<double> covered(const analysis::validation& all) {
  if (all.cases.empty()) return std::nullopt;
  const auto count = std::ranges::count_if(all.cases, &analysis::validated::covered);
  return static_cast<double>(count) / static_cast<double>(all.cases.size());
}

[[nodiscard]] inline std::string summary_line(const std::string& what,
                                              const std::optional<analysis::error_summary>& of) {
  if (!of) return what + ": no case\n";
  return fmt::format(
      "{}: mean absolute error {:.1f} %, median {:.1f} %, worst {:.1f} %, bias {:+.1f} %; within "
      "2 %: {:.0f} % of cases, within 5 %: {:.0f} %\n",
      what, 100 * of->mean_abs, 100 * of->median_abs, 100 * of->max_abs, 100 * of->bias,
      100 * of->within_2_percent, 100 * of->within_5_percent);
}

[[nodiscard]] inline table comparison(const analysis::validation& all) {
  table t{{{"case"},
           {"predicted ms", align::right},
           {"between", align::right},
           {"measured ms", align::right},
           {"between", align::right},
           {"error", align::right},
           {"naive error", align::right},
           {"note"}},
          {}};
  for (const analysis::validated& validated : all.cases) {
    const analysis::step_time& step = *validated.predicted.step;
    t.rows.push_back({headline(validated.predicted), milliseconds(step.seconds),
                      range_text(step.low(), step.high()), milliseconds(validated.measured.seconds),
                      range_text(validated.measured.low, validated.measured.high),
                      signed_percent(validated.error()), signed_percent(validated.naive_error()),
                      validated.disturbed() ? "disturbed" : ""});
  }
  return t;
}

/// Where a case's error comes from: by kind of op, and the layers that are furthest off in seconds.
/// Empty where no clocks were read inside the chain.
[[nodiscard]] inline std::string parts_text(const analysis::validated& of) {
  std::vector<analysis::part> layers = of.layers();
  if (layers.empty()) return {};
  const auto list = [&](const std::vector<analysis::part>& parts) {
    std::vector<std::string> words;
    for (const analysis::part& element : parts) {
      words.push_back(fmt::format("{} {:+.1f} % ({:.1f} % of the step)", element.name,
                                  100 * element.error(),
                                  100 * element.measured / of.measured.seconds));
    }
    return fmt::format("{}", fmt::join(words, ", "));
  };
  constexpr std::size_t most_layers = 5;
  const auto off = [](const analysis::part& item) {
    return std::abs(item.predicted - item.measured);
  };
  std::ranges::sort(layers, std::ranges::greater{}, off);
  if (layers.size() > most_layers) layers.resize(most_layers);
  const std::vector<analysis::part> ops = of.ops();
  const std::vector<analysis::part> halves = of.step_parts();
  double clocked = 0;
  for (const analysis::part& part : ops) clocked += part.measured;
  return fmt::format(
      "{}: its layers by clocks in the chain: {:+.1f} % of the step together\n"
      "{}  by op: {}\n  furthest off: {}\n",
      headline(of.predicted), 100 * (clocked / of.measured.seconds - 1),
      halves.size() > 1 ? fmt::format("  by part: {}\n", list(halves)) : "", list(ops),
      list(layers));
}

/// What the cases amount to, where their errors come from, and what was left out; a line each.
[[nodiscard]] inline std::string remarks(const analysis::validation& all) {
  std::string out;
  if (!all.cases.empty()) {
    out += summary_line("predicted", errors(all));
    out += summary_line("naive hot sum", naive_errors(all));
    out += fmt::format("measured time inside the predicted interval: {:.0f} % of {} case{}\n",
                       100 * covered(all).value_or(0), all.cases.size(),
                       all.cases.size() == 1 ? "" : "s");
    for (const analysis::validated& validated : all.cases) out += parts_text(validated);
  }
  for (const analysis::unvalidated& unvalidated : all.left_out) {
    out += fmt::format("not validated: {}: {}\n", unvalidated.configuration.text(),
                       unvalidated.reason);
  }
  return out;
}

[[nodiscard]] inline json::value parts_json(const std::vector<analysis::part>& parts,
                                            const char* name) {
  json::value all = json::value::array();
  for (const analysis::part& part : parts) {
    all.push_back({{name, part.name},
                   {"predicted_seconds", part.predicted},
                   {"chain_seconds", part.measured},
                   {"error", part.error()}});
  }
  return all;
}

[[nodiscard]] inline json::value case_json(const analysis::validated& validated) {
  const analysis::prediction& p = validated.predicted;
  json::value result{{"model", p.configuration.model},
                     {"phase", p.configuration.phase()},
                     {"backend", p.configuration.backend},
                     {"dtype", p.configuration.dtype},
                     {"batch", p.configuration.batch},
                     {"threads", p.threads},
                     {"case", p.configuration.text()},
                     {"files", p.files},
                     {"cache", p.cache},
                     {"method", p.method}};
  for (const auto& [name, number] : numbers(validated)) result[name] = or_null(number);
  result["covered"] = validated.covered();
  result["predicted_rounds"] = p.rounds;
  result["measured_rounds"] = validated.measured.rounds;
  result["disturbed"] = validated.disturbed();
  if (!validated.layers().empty()) {
    result["parts"] = parts_json(validated.step_parts(), "part");
    result["ops"] = parts_json(validated.ops(), "op");
    result["layers"] = parts_json(validated.layers(), "layer");
  }
  return result;
}

}  // namespace detail

/// A table of the cases, a line each on predictions and on naive hot sums, and what was left out.
[[nodiscard]] inline std::string text(const analysis::validation& all) {
  return (all.cases.empty() ? "" : text(detail::comparison(all)) + '\n') + detail::remarks(all);
}

/// For programs: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const analysis::validation& all) {
  json::value cases = json::value::array();
  for (const analysis::validated& validated : all.cases)
    cases.push_back(detail::case_json(validated));
  json::value left_out = json::value::array();
  for (const analysis::unvalidated& unvalidated : all.left_out) {
    left_out.push_back({{"case", unvalidated.configuration.text()},
                        {"files", unvalidated.files},
                        {"reason", unvalidated.reason}});
  }
  json::value result{{"schema", 1}, {"cases", cases}, {"unvalidated", left_out}};
  const auto add = [&](const char* name, const auto& of, double analysis::error_summary::* member) {
    result[name] = of ? json::value((*of).*member) : json::value(nullptr);
  };
  const auto errors = detail::errors(all);
  using sum = analysis::error_summary;
  add("mean_abs_error", errors, &sum::mean_abs);
  add("median_abs_error", errors, &sum::median_abs);
  add("max_abs_error", errors, &sum::max_abs);
  add("bias", errors, &sum::bias);
  add("within_2_percent", errors, &sum::within_2_percent);
  add("within_5_percent", errors, &sum::within_5_percent);
  result["covered"] = detail::or_null(detail::covered(all));
  add("naive_mean_abs_error", detail::naive_errors(all), &sum::mean_abs);
  return result;
}

/// One row a case; those that are not validated have no numbers, but a reason.
[[nodiscard]] inline table records(const analysis::validation& all) {
  table t = table_with_columns(
      "model phase backend dtype batch threads case cache predicted_seconds "
      "predicted_low predicted_high measured_seconds measured_low measured_high "
      "error naive_seconds naive_error covered predicted_rounds measured_rounds "
      "disturbed unvalidated");
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const auto start = [](const result::configuration_name& configuration) {
    return std::vector<std::string>{configuration.model, configuration.phase(),
                                    configuration.backend, configuration.dtype,
                                    std::to_string(configuration.batch)};
  };
  for (const analysis::validated& validated : all.cases) {
    std::vector<std::string> cells = start(validated.predicted.configuration);
    cells.insert(cells.end(),
                 {std::to_string(validated.predicted.threads),
                  validated.predicted.configuration.text(), validated.predicted.cache});
    for (const auto& [name, number] : detail::numbers(validated))
      cells.push_back(detail::exact(number));
    cells.insert(cells.end(),
                 {truth(validated.covered()), std::to_string(validated.predicted.rounds),
                  std::to_string(validated.measured.rounds), truth(validated.disturbed()), ""});
    t.rows.push_back(std::move(cells));
  }
  for (const analysis::unvalidated& unvalidated : all.left_out) {
    std::vector<std::string> cells = start(unvalidated.configuration);
    cells.insert(cells.end(), {"", unvalidated.configuration.text()});
    cells.resize(t.columns.size());
    cells.back() = unvalidated.reason;
    t.rows.push_back(std::move(cells));
  }
  return t;
}

}  // namespace layerbench::report
