// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::report {

namespace detail {

[[nodiscard]] inline json::value or_null(std::optional<double> number) {
  return number ? json::value(*number) : json::value(nullptr);
}

[[nodiscard]] inline json::value layer_json(const analysis::layer_time& layer) {
  json::value result{{"name", layer.name},
                     {"op", layer.op},
                     {"pass", layer.pass},
                     {"part", name(layer.part)},
                     {"key", layer.key},
                     {"count", layer.count},
                     {"inserted", layer.inserted},
                     {"seconds", layer.seconds},
                     {"seconds_low", layer.low},
                     {"seconds_high", layer.high},
                     {"share", layer.share},
                     {"bound", nullptr},
                     {"percent_of_peak", nullptr},
                     {"seconds_at_peak", nullptr},
                     {"flops_exact", or_null(layer.flops)},
                     {"flops", or_null(layer.padded_flops)},
                     {"bytes", or_null(analysis::bytes(layer))},
                     {"arithmetic_intensity", or_null(analysis::arithmetic_intensity(layer))}};
  if (layer.roofs) {
    result["bound"] = layer.roofs->bound();
    result["percent_of_peak"] = 100 * *analysis::share_of_peak(layer);
    result["seconds_at_peak"] = layer.roofs->seconds();
  }
  return result;
}

[[nodiscard]] inline json::value peaks_json(const analysis::peaks& of) {
  json::value levels = json::value::array();
  for (const analysis::memory_level& level : of.levels) {
    levels.push_back(
        {{"level", level.name},
         {"holds",
          or_null(std::isinf(level.capacity) ? std::nullopt : std::optional(level.capacity))},
         {"read", level.read},
         {"write", level.write},
         {"copy", level.copy}});
  }
  return {{"flops", of.flops}, {"call", of.call}, {"levels", levels}};
}

/// What limits a step: null where no peaks are known.
inline void add_limits(json::value& to, const analysis::prediction& p) {
  for (const char* item : {"peaks", "bounds", "what_if", "worth_optimising"}) to[item] = nullptr;
  if (!p.limits) return;
  to["peaks"] = peaks_json(*p.limits);
  json::value& bounds = to["bounds"] = json::value::array();
  for (const auto& [bound, share] : shares_by_bound(p)) {
    bounds.push_back({{"bound", bound}, {"share", share}});
  }
  json::value& changes = to["what_if"] = json::value::array();
  for (const auto& [change, seconds] : analysis::what_ifs(p)) {
    changes.push_back({{"change", change}, {"seconds_per_step", seconds}});
  }
  json::value& layers = to["worth_optimising"] = json::value::array();
  for (const analysis::layer_time& layer_time : analysis::worth_optimising(p)) {
    layers.push_back({{"name", layer_time.name},
                      {"pass", layer_time.pass},
                      {"part", name(layer_time.part)},
                      {"seconds", analysis::seconds_above(layer_time)}});
  }
}

[[nodiscard]] inline json::value prediction_json(const analysis::prediction& p) {
  json::value layers = json::value::array();
  for (const analysis::layer_time& layer : p.layers) layers.push_back(layer_json(layer));
  json::value result{{"model", p.configuration.model},
                     {"phase", p.configuration.phase()},
                     {"backend", p.configuration.backend},
                     {"dtype", p.configuration.dtype},
                     {"batch", p.configuration.batch},
                     {"threads", p.threads},
                     {"devices", 1},
                     {"case", p.configuration.text()},
                     {"files", p.files},
                     {"derived", p.derived},
                     {"cache", p.cache},
                     {"method", p.method}};
  for (const auto& [name, seconds] : times(p)) result[name] = or_null(seconds);
  result["interval"] = p.step ? json::value(interval_name(p)) : json::value(nullptr);
  result["rounds"] = p.rounds;
  result["interrupted"] = p.interrupted;
  result["images_per_second"] = or_null(p.images_per_second());
  result["partial"] = p.partial();
  result["disturbed"] = p.disturbed;
  result["coverage"] = p.coverage;
  result["missing"] = p.missing;
  add_limits(result, p);
  result["layers"] = std::move(layers);
  return result;
}

}  // namespace detail

/// Predictions, and the contention that was measured, for programs: the contract of
/// docs/formats.md.
[[nodiscard]] inline json::value to_json(
    std::span<const analysis::prediction> predictions,
    std::span<const analysis::measured_contention> measured = {}) {
  json::value list = json::value::array();
  for (const analysis::prediction& prediction : predictions) {
    list.push_back(detail::prediction_json(prediction));
  }
  json::value result{{"schema", 1}, {"predictions", list}};
  for (const analysis::measured_contention& measured_contention : measured) {
    const auto& [usual, low, high] = measured_contention.factors;
    json::value& one = result["contentions"].emplace_back(
        json::value{{"case", measured_contention.configuration.text()},
                    {"files", measured_contention.files},
                    {"ratio", usual.computing},
                    {"low", low.computing},
                    {"high", high.computing},
                    {"disturbed", measured_contention.disturbed}});
    one["sending"] = nullptr;
    if (measured_contention.sending_known) {
      one["sending"] = {{"ratio", usual.sending}, {"low", low.sending}, {"high", high.sending}};
    }
  }
  return result;
}

}  // namespace layerbench::report
