// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  // No peak is measured yet, hence neither what bounds a layer nor how near it comes.
  return {{"name", layer.name},        {"op", layer.op},       {"pass", layer.pass},
          {"key", layer.key},          {"count", layer.count}, {"inserted", layer.inserted},
          {"seconds", layer.seconds},  {"share", layer.share}, {"bound", nullptr},
          {"percent_of_peak", nullptr}};
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
  made["layers"] = std::move(layers);
  return made;
}

}  // namespace detail

/// Predictions for programs: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(std::span<const predict::prediction> predictions) {
  json::value list = json::value::array();
  for (const predict::prediction& each : predictions) {
    list.push_back(detail::prediction_json(each));
  }
  return {{"schema", 1}, {"predictions", list}};
}

}  // namespace layerbench::report
