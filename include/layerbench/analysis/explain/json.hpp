// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/analysis/explain/explain.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

[[nodiscard]] inline json::value to_json(const explanation& of) {
  json::value gains = json::value::array();
  for (const gain& one : of.gains) {
    gains.push_back({{"cause", name(one.cause)},
                     {"seconds", one.seconds},
                     {"at_most", one.at_most},
                     {"calls", one.calls},
                     {"text", one.text}});
  }
  json::value calls = json::value::array();
  for (const explained_call& call : of.calls) {
    json::value measured = json::value::object();
    for (const auto& [cache, seconds] : call.by_cache) measured[cache] = seconds;
    calls.push_back({{"layer", call.layer},
                     {"kind", call.primitive->kind},
                     {"implementation", call.primitive->implementation},
                     {"problem", call.primitive->problem},
                     {"seconds", call.seconds},
                     {"seconds_here", std::move(measured)},
                     {"cause", call.cause ? json::value(name(*call.cause)) : json::value(nullptr)},
                     {"gain_seconds", call.gain},
                     {"refusals", call.primitive->refusals}});
  }
  return {
      {"schema", 1},
      {"library", of.log->library},
      {"version", of.log->version},
      {"onednn_version", of.log->library == "oneDNN" ? of.log->version : ""},
      {"isa", of.log->isa},
      {"threads", of.log->threads},
      {"steps", of.steps},
      {"seconds_per_step", of.seconds},
      {"usual_seconds_per_step", of.usual},
      {"creation_seconds_per_step", of.creation ? json::value(*of.creation) : json::value(nullptr)},
      {"between_seconds_per_step", of.between ? json::value(*of.between) : json::value(nullptr)},
      {"seconds_before_steps", of.warm_up},
      {"seconds_behind_steps", of.tail},
      {"unexplained_seconds", of.remainder()},
      {"lines", {{"damaged", of.log->damaged}, {"processes", of.log->processes}}},
      {"gains", std::move(gains)},
      {"calls", std::move(calls)},
      {"notes", of.notes}};
}

}  // namespace layerbench::analysis
