// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/roofline/bottlenecks.hpp>
#include <layerbench/base/json.hpp>

/// What limits a step, as JSON: part of the contract of docs/formats.md.
namespace layerbench::analysis::detail {

[[nodiscard]] inline json::value peaks_json(const peaks& of) {
  json::value levels = json::value::array();
  for (const memory_level& level : of.levels) {
    const bool limited = !std::isinf(level.capacity);
    levels.push_back({{"level", level.name},
                      {"holds", limited ? json::value(level.capacity) : json::value(nullptr)},
                      {"read", level.read},
                      {"write", level.write},
                      {"copy", level.copy}});
  }
  return {{"flops", of.flops}, {"call", of.call}, {"levels", levels}};
}

/// Adds the members on limits to a prediction; they are null where no peaks are known.
inline void add_bottlenecks(json::value& to, const prediction& p) {
  for (const char* name : {"peaks", "bounds", "what_if", "worth_optimising"}) to[name] = nullptr;
  if (!p.limits) return;
  to["peaks"] = peaks_json(*p.limits);
  json::value& bounds = to["bounds"] = json::value::array();
  for (const auto& [bound, share] : shares_by_bound(p)) {
    bounds.push_back({{"bound", bound}, {"share", share}});
  }
  json::value& changes = to["what_if"] = json::value::array();
  for (const auto& [change, seconds] : what_ifs(p)) {
    changes.push_back({{"change", change}, {"seconds_per_step", seconds}});
  }
  json::value& layers = to["worth_optimising"] = json::value::array();
  for (const layer_time& layer : worth_optimising(p)) {
    layers.push_back({{"name", layer.name},
                      {"pass", layer.pass},
                      {"part", name(layer.part)},
                      {"seconds", seconds_above_roof(layer)}});
  }
}

}  // namespace layerbench::analysis::detail
