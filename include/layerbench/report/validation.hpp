// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/predict/validation.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/report/prediction_json.hpp>
#include <layerbench/report/table.hpp>

/// Predictions against measured steps, for people, for programs and as CSV.
namespace layerbench::report {

namespace detail {

/// The numbers of a case, by their names in JSON and CSV.
[[nodiscard]] inline std::vector<std::pair<std::string, std::optional<double>>> numbers(
    const predict::validated& each) {
  const predict::step_time& step = *each.predicted.step;
  return {{"predicted_seconds", step.seconds},
          {"predicted_low", step.low()},
          {"predicted_high", step.high()},
          {"measured_seconds", each.measured.seconds},
          {"measured_low", each.measured.low},
          {"measured_high", each.measured.high},
          {"error", each.error()},
          {"naive_seconds", each.predicted.naive_seconds},
          {"naive_error", each.naive_error()}};
}

[[nodiscard]] inline std::optional<predict::error_summary> errors(const predict::validation& all) {
  std::vector<double> values;
  for (const predict::validated& each : all.cases) values.push_back(each.error());
  return predict::summarize(values);
}

[[nodiscard]] inline std::optional<predict::error_summary> naive_errors(
    const predict::validation& all) {
  std::vector<double> values;
  for (const predict::validated& each : all.cases) {
    if (const auto error = each.naive_error()) values.push_back(*error);
  }
  return predict::summarize(values);
}

/// Share of the cases whose predicted interval holds the measured time.
[[nodiscard]] inline std::optional<double> covered(const predict::validation& all) {
  if (all.cases.empty()) return std::nullopt;
  const auto count = std::ranges::count_if(all.cases, &predict::validated::covered);
  return static_cast<double>(count) / static_cast<double>(all.cases.size());
}

[[nodiscard]] inline std::string summary_line(const std::string& what,
                                              const std::optional<predict::error_summary>& of) {
  if (!of) return what + ": no case\n";
  return fmt::format(
      "{}: mean absolute error {:.1f} %, median {:.1f} %, worst {:.1f} %, bias {:+.1f} %; within "
      "2 %: {:.0f} % of cases, within 5 %: {:.0f} %\n",
      what, 100 * of->mean_abs, 100 * of->median_abs, 100 * of->max_abs, 100 * of->bias,
      100 * of->within_2_percent, 100 * of->within_5_percent);
}

[[nodiscard]] inline table comparison(const predict::validation& all) {
  table t{{{"case"},
           {"predicted ms", align::right},
           {"between", align::right},
           {"measured ms", align::right},
           {"between", align::right},
           {"error", align::right},
           {"naive error", align::right},
           {"note"}},
          {}};
  for (const predict::validated& each : all.cases) {
    const predict::step_time& step = *each.predicted.step;
    t.rows.push_back({headline(each.predicted), milliseconds(step.seconds),
                      range_text(step.low(), step.high()), milliseconds(each.measured.seconds),
                      range_text(each.measured.low, each.measured.high),
                      signed_percent(each.error()), signed_percent(each.naive_error()),
                      each.disturbed() ? "disturbed" : ""});
  }
  return t;
}

/// Where a case's error comes from: by kind of op, and the layers that are furthest off in seconds.
/// Empty where no clocks were read inside the chain.
[[nodiscard]] inline std::string parts_text(const predict::validated& of) {
  std::vector<predict::part> layers = of.layers();
  if (layers.empty()) return {};
  const auto list = [&](const std::vector<predict::part>& parts) {
    std::vector<std::string> words;
    for (const predict::part& each : parts) {
      words.push_back(fmt::format("{} {:+.1f} % ({:.1f} % of the step)", each.name,
                                  100 * each.error(), 100 * each.measured / of.measured.seconds));
    }
    return fmt::format("{}", fmt::join(words, ", "));
  };
  constexpr std::size_t most_layers = 5;
  const auto off = [](const predict::part& each) {
    return std::abs(each.predicted - each.measured);
  };
  std::ranges::sort(layers, std::ranges::greater{}, off);
  if (layers.size() > most_layers) layers.resize(most_layers);
  const std::vector<predict::part> ops = of.ops();
  const std::vector<predict::part> halves = of.step_parts();
  double clocked = 0;
  for (const predict::part& each : ops) clocked += each.measured;
  return fmt::format(
      "{}: its layers by clocks in the chain: {:+.1f} % of the step together\n"
      "{}  by op: {}\n  furthest off: {}\n",
      headline(of.predicted), 100 * (clocked / of.measured.seconds - 1),
      halves.size() > 1 ? fmt::format("  by part: {}\n", list(halves)) : "", list(ops),
      list(layers));
}

/// What the cases amount to, where their errors come from, and what was left out; a line each.
[[nodiscard]] inline std::string remarks(const predict::validation& all) {
  std::string out;
  if (!all.cases.empty()) {
    out += summary_line("predicted", errors(all));
    out += summary_line("naive hot sum", naive_errors(all));
    out += fmt::format("measured time inside the predicted interval: {:.0f} % of {} case{}\n",
                       100 * covered(all).value_or(0), all.cases.size(),
                       all.cases.size() == 1 ? "" : "s");
    for (const predict::validated& each : all.cases) out += parts_text(each);
  }
  for (const predict::unvalidated& each : all.left_out) {
    out += fmt::format("not validated: {}: {}\n", each.owner.text(), each.reason);
  }
  return out;
}

[[nodiscard]] inline json::value parts_json(const std::vector<predict::part>& parts,
                                            const char* name) {
  json::value all = json::value::array();
  for (const predict::part& each : parts) {
    all.push_back({{name, each.name},
                   {"predicted_seconds", each.predicted},
                   {"chain_seconds", each.measured},
                   {"error", each.error()}});
  }
  return all;
}

[[nodiscard]] inline json::value case_json(const predict::validated& each) {
  const predict::prediction& p = each.predicted;
  json::value made{{"model", p.owner.model},     {"phase", p.owner.phase()},
                   {"backend", p.owner.backend}, {"dtype", p.owner.dtype},
                   {"batch", p.owner.batch},     {"threads", p.threads},
                   {"case", p.owner.text()},     {"files", p.files},
                   {"cache", p.cache},           {"method", p.method}};
  for (const auto& [name, number] : numbers(each)) made[name] = or_null(number);
  made["covered"] = each.covered();
  made["predicted_rounds"] = p.rounds;
  made["measured_rounds"] = each.measured.rounds;
  made["disturbed"] = each.disturbed();
  if (!each.layers().empty()) {
    made["parts"] = parts_json(each.step_parts(), "part");
    made["ops"] = parts_json(each.ops(), "op");
    made["layers"] = parts_json(each.layers(), "layer");
  }
  return made;
}

}  // namespace detail

/// A table of the cases, a line each on predictions and on naive hot sums, and what was left out.
[[nodiscard]] inline std::string text(const predict::validation& all) {
  return (all.cases.empty() ? "" : text(detail::comparison(all)) + '\n') + detail::remarks(all);
}

/// For programs: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const predict::validation& all) {
  json::value cases = json::value::array();
  for (const predict::validated& each : all.cases) cases.push_back(detail::case_json(each));
  json::value left_out = json::value::array();
  for (const predict::unvalidated& each : all.left_out) {
    left_out.push_back(
        {{"case", each.owner.text()}, {"files", each.files}, {"reason", each.reason}});
  }
  json::value made{{"schema", 1}, {"cases", cases}, {"unvalidated", left_out}};
  const auto add = [&](const char* name, const auto& of, double predict::error_summary::* member) {
    made[name] = of ? json::value((*of).*member) : json::value(nullptr);
  };
  const auto errors = detail::errors(all);
  using sum = predict::error_summary;
  add("mean_abs_error", errors, &sum::mean_abs);
  add("median_abs_error", errors, &sum::median_abs);
  add("max_abs_error", errors, &sum::max_abs);
  add("bias", errors, &sum::bias);
  add("within_2_percent", errors, &sum::within_2_percent);
  add("within_5_percent", errors, &sum::within_5_percent);
  made["covered"] = detail::or_null(detail::covered(all));
  add("naive_mean_abs_error", detail::naive_errors(all), &sum::mean_abs);
  return made;
}

/// One row a case; those that are not validated have no numbers, but a reason.
[[nodiscard]] inline table records(const predict::validation& all) {
  table t = titled(
      "model phase backend dtype batch threads case cache predicted_seconds "
      "predicted_low predicted_high measured_seconds measured_low measured_high "
      "error naive_seconds naive_error covered predicted_rounds measured_rounds "
      "disturbed unvalidated");
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const auto start = [](const result::case_name& owner) {
    return std::vector<std::string>{owner.model, owner.phase(), owner.backend, owner.dtype,
                                    std::to_string(owner.batch)};
  };
  for (const predict::validated& each : all.cases) {
    std::vector<std::string> cells = start(each.predicted.owner);
    cells.insert(cells.end(), {std::to_string(each.predicted.threads), each.predicted.owner.text(),
                               each.predicted.cache});
    for (const auto& [name, number] : detail::numbers(each)) cells.push_back(detail::exact(number));
    cells.insert(cells.end(), {truth(each.covered()), std::to_string(each.predicted.rounds),
                               std::to_string(each.measured.rounds), truth(each.disturbed()), ""});
    t.rows.push_back(std::move(cells));
  }
  for (const predict::unvalidated& each : all.left_out) {
    std::vector<std::string> cells = start(each.owner);
    cells.insert(cells.end(), {"", each.owner.text()});
    cells.resize(t.columns.size());
    cells.back() = each.reason;
    t.rows.push_back(std::move(cells));
  }
  return t;
}

}  // namespace layerbench::report
