// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <layerbench/report/prediction.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::report {

namespace detail {

[[nodiscard]] inline json::value or_null(std::optional<double> number) {
  return number ? json::value(*number) : json::value(nullptr);
}

[[nodiscard]] inline json::value layer_json(const predict::layer_time& layer) {
  json::value made{{"name", layer.name},
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
                   {"bytes", or_null(predict::bytes(layer))},
                   {"arithmetic_intensity", or_null(predict::arithmetic_intensity(layer))}};
  if (layer.roofs) {
    made["bound"] = layer.roofs->bound();
    made["percent_of_peak"] = 100 * *predict::share_of_peak(layer);
    made["seconds_at_peak"] = layer.roofs->seconds();
  }
  return made;
}

[[nodiscard]] inline json::value peaks_json(const predict::peaks& of) {
  json::value levels = json::value::array();
  for (const predict::memory_level& each : of.levels) {
    levels.push_back(
        {{"level", each.name},
         {"holds", or_null(std::isinf(each.holds) ? std::nullopt : std::optional(each.holds))},
         {"read", each.read},
         {"write", each.write},
         {"copy", each.copy}});
  }
  return {{"flops", of.flops}, {"call", of.call}, {"levels", levels}};
}

/// What limits a step: null where no peaks are known.
inline void add_limits(json::value& to, const predict::prediction& p) {
  for (const char* each : {"peaks", "bounds", "what_if", "worth_optimising"}) to[each] = nullptr;
  if (!p.limits) return;
  to["peaks"] = peaks_json(*p.limits);
  json::value& bounds = to["bounds"] = json::value::array();
  for (const auto& [bound, share] : shares_by_bound(p)) {
    bounds.push_back({{"bound", bound}, {"share", share}});
  }
  json::value& changes = to["what_if"] = json::value::array();
  for (const auto& [change, seconds] : predict::what_ifs(p)) {
    changes.push_back({{"change", change}, {"seconds_per_step", seconds}});
  }
  json::value& layers = to["worth_optimising"] = json::value::array();
  for (const predict::layer_time& each : predict::worth_optimising(p)) {
    layers.push_back({{"name", each.name},
                      {"pass", each.pass},
                      {"part", name(each.part)},
                      {"seconds", predict::seconds_above(each)}});
  }
}

[[nodiscard]] inline json::value prediction_json(const predict::prediction& p) {
  json::value layers = json::value::array();
  for (const predict::layer_time& each : p.layers) layers.push_back(layer_json(each));
  json::value made{
      {"model", p.owner.model}, {"phase", p.owner.phase()}, {"backend", p.owner.backend},
      {"dtype", p.owner.dtype}, {"batch", p.owner.batch},   {"threads", p.threads},
      {"devices", 1},           {"case", p.owner.text()},   {"files", p.files},
      {"derived", p.derived},   {"cache", p.cache},         {"method", p.method}};
  for (const auto& [name, seconds] : times(p)) made[name] = or_null(seconds);
  made["interval"] = p.step ? json::value(interval_name(p)) : json::value(nullptr);
  made["rounds"] = p.rounds;
  made["interrupted"] = p.interrupted;
  made["images_per_second"] = or_null(p.images_per_second());
  made["partial"] = p.partial();
  made["disturbed"] = p.disturbed;
  made["coverage"] = p.coverage;
  made["missing"] = p.missing;
  add_limits(made, p);
  made["layers"] = std::move(layers);
  return made;
}

}  // namespace detail

/// Predictions, and the contention that was measured, for programs: the contract of
/// docs/formats.md.
[[nodiscard]] inline json::value to_json(
    std::span<const predict::prediction> predictions,
    std::span<const predict::measured_contention> measured = {}) {
  json::value list = json::value::array();
  for (const predict::prediction& each : predictions) {
    list.push_back(detail::prediction_json(each));
  }
  json::value made{{"schema", 1}, {"predictions", list}};
  for (const predict::measured_contention& each : measured) {
    const auto& [usual, low, high] = each.factors;
    json::value& one = made["contentions"].emplace_back(json::value{{"case", each.owner.text()},
                                                                    {"files", each.files},
                                                                    {"ratio", usual.computing},
                                                                    {"low", low.computing},
                                                                    {"high", high.computing},
                                                                    {"disturbed", each.disturbed}});
    one["sending"] = nullptr;
    if (each.sending_known) {
      one["sending"] = {{"ratio", usual.sending}, {"low", low.sending}, {"high", high.sending}};
    }
  }
  return made;
}

}  // namespace layerbench::report
