// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ranges>
#include <string>
#include <vector>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/result/protocol_error.hpp>

/// Validations as JSON.
namespace layerbench::analysis {

namespace detail {

/// `seconds` is the name of the measured time.
[[nodiscard]] inline json::value parts_json(const std::vector<validation_part>& parts,
                                            const char* name, const char* seconds) {
  json::value all = json::value::array();
  for (const validation_part& part : parts) {
    all.push_back({{name, part.name},
                   {"predicted_seconds", part.predicted},
                   {seconds, part.measured},
                   {"calls", part.calls},
                   {"error", part.measured > 0 ? json::value(part.error()) : nullptr}});
  }
  return all;
}

/// The kind of the step, as the errors of predictions are learned by: the engine's name, or
/// step_kind().
[[nodiscard]] inline std::string kind_of(const prediction& p) {
  if (p.engine) return p.engine->engine;
  return std::string(
      result::step_kind(p.model_case, p.layers | std::views::transform(&layer_time::op)));
}

[[nodiscard]] inline json::value case_json(const validated& entry) {
  const prediction& p = entry.predicted;
  json::value result = case_fields(p.model_case);
  result.update({{"threads", p.threads},
                 {"streams", p.model_case.streams()},
                 {"case", p.model_case.text()},
                 {"kind", kind_of(p)},
                 {"files", p.files},
                 {"cache", p.cache},
                 {"method", p.method}});
  for (const auto& [name, number] : numbers(entry)) result[name] = or_null(number);
  result["overhead_seconds"] = p.step->overhead;
  result["protocol_half_width"] = or_null(p.step->protocol_half_width);
  result["covered"] = or_null(entry.interval_contains_measured());
  result["predicted_rounds"] = p.rounds;
  result["measured_rounds"] = entry.measured.rounds;
  result["disturbed"] = entry.disturbed();
  result["predicted_disturbed"] = p.disturbed;
  result["left_out"] = or_null(p.left_out);
  result["quieter_half"] = entry.of_quieter_half;
  if (p.latencies && entry.latencies) {
    result["predicted_latency_seconds"] = latencies_json(*p.latencies);
    result["measured_latency_seconds"] = latencies_json(*entry.latencies);
  }
  if (!entry.layers().empty()) {
    const char* seconds = entry.profiled ? "engine_seconds" : "chain_seconds";
    result["parts"] = parts_json(entry.step_parts(), "part", seconds);
    result["ops"] = parts_json(entry.ops(), "op", seconds);
    const std::vector<validation_part> layers = entry.layers();
    result["layers"] = parts_json(layers, "layer", seconds);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      result["layers"][i]["kernel"] = layers[i].kernel;
    }
  }
  if (entry.profiled) {
    result["profile_seconds"] = *entry.profiled;
    json::value others = json::value::array();
    for (const auto& [kind, time] : entry.in_no_layer) {
      others.push_back({{"type", kind}, {"seconds", time}});
    }
    result["in_no_layer"] = others;
  }
  return result;
}

}  // namespace detail

/// The validation as JSON: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const validation& all) {
  json::value cases = json::value::array();
  for (const validated& entry : all.cases) cases.push_back(detail::case_json(entry));
  json::value left_out = json::value::array();
  for (const unvalidated& other : all.left_out) {
    left_out.push_back(
        {{"case", other.model_case.text()}, {"files", other.files}, {"reason", other.reason}});
  }
  json::value result{{"schema", 1}, {"cases", cases}, {"unvalidated", left_out}};
  const auto add = [&](const char* name, const auto& of, double error_summary::* member) {
    result[name] = of ? json::value((*of).*member) : json::value(nullptr);
  };
  const auto errors = all.errors();
  using sum = error_summary;
  add("mean_abs_error", errors, &sum::mean_abs);
  add("median_abs_error", errors, &sum::median_abs);
  add("max_abs_error", errors, &sum::max_abs);
  add("bias", errors, &sum::bias);
  add("within_2_percent", errors, &sum::within_2_percent);
  add("within_5_percent", errors, &sum::within_5_percent);
  result["covered"] = detail::or_null(all.interval_coverage());
  add("naive_mean_abs_error", all.naive_errors(), &sum::mean_abs);
  return result;
}

/// The same fields for each engine, whose steps are what is measured.
[[nodiscard]] inline json::value to_json(const std::vector<engine_validation>& engines) {
  json::value all = json::value::array();
  for (const engine_validation& one : engines) {
    all.push_back(to_json(one.pairs));
    all.back().erase("schema");
    all.back()["engine"] = one.engine;
  }
  return all;
}

}  // namespace layerbench::analysis
