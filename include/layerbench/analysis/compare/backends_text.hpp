// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/compare/backends.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>

/// Comparisons of backends as text and JSON.
namespace layerbench::analysis {

namespace detail {

/// "onednn 61.8 us, mkl 156 us", fastest first.
[[nodiscard]] inline std::string times_text(backend_times times) {
  std::string out;
  for (; !times.empty(); times.erase(fastest(times))) {
    const std::string& next = fastest(times);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", next, units::duration(times.at(next)));
  }
  return out;
}

}  // namespace detail

/// The steps with what the best backend by layer would save, and the layers that have timings of
/// two backends, those that take longest first.
[[nodiscard]] inline std::string text(const backend_comparison& all, const layers_shown& how = {}) {
  using enum align;
  table steps{{{"case"}, {"steps"}, {"best of", right}, {"change", right}, {"moved calls", right}},
              {}};
  table layers{{{"layer"}, {"calls", right}, {"best"}, {"time per call"}}, {}};
  std::string out;
  for (const std::string& note : all.notes) out += "note: " + note + '\n';
  bool orders_differ = false;
  // By the seconds of all calls on the fastest backend.
  std::multimap<double, std::vector<std::string>, std::greater<>> rows;
  for (const model_of_backends& model : all.models) {
    if (!model.steps.empty()) {
      const double own = model.steps.at(fastest(model.steps));
      steps.rows.push_back({model.model_case.text() + ", " + model.cache,
                            detail::times_text(model.steps), units::duration(model.best_seconds),
                            fmt::format("{:+.1f} %", 100 * (model.best_seconds / own - 1)),
                            std::to_string(model.moved_calls)});
      orders_differ = orders_differ || model.model_case.parameter("layout", "") == "any";
    }
    for (const layer_of_backends& layer : model.layers) {
      if (layer.times.size() < 2) continue;
      const auto count = static_cast<double>(layer.primitive.count);
      rows.insert(
          {count * layer.times.at(fastest(layer.times)),
           {fmt::format("{}/{}", model.model_case.model,
                        model::call_name(layer.primitive.layer, layer.primitive.pass)),
            std::to_string(layer.primitive.count), layer.best, detail::times_text(layer.times)}});
    }
  }
  for (auto& row : std::views::values(rows)) layers.rows.push_back(std::move(row));
  const std::size_t found = layers.rows.size();
  const std::size_t most = how.top > 0 ? how.top : how.all ? found : 20;
  if (found > most) {
    layers.rows.resize(most);
    layers.rows.push_back({fmt::format("{} more", found - most), "", "", ""});
  }
  if (!steps.rows.empty()) {
    out += text(steps) + "best of: each layer on its best backend; change: from the fastest step\n";
    out += orders_differ
               ? "layout any: reorders between backends are not in the files, and not counted\n"
               : "no reorders: operands lie in the same order for all of these backends\n";
    out += '\n';
  }
  return out + text(layers);
}

/// The layers that are faster on another backend than that of the fastest step, as a fusion plan
/// for steps of this one. Throws usage_error unless there is one step, of inference and without
/// another plan, and nothing_matched if no layer is.
[[nodiscard]] inline json::value fusion_plan_of(const backend_comparison& all) {
  const result::case_name& of = all.models.front().model_case;
  const auto refuse = [](bool refused, const char* why) {
    if (refused) throw usage_error(fmt::format("--format=plan: {}", why));
  };
  refuse(all.models.size() > 1, "several cases; give the file of one model, batch and data type");
  refuse(of.fused() || of.phase() != "inference",
         "a case with --fusion or of training; measure inference without --fusion");
  refuse(all.models.front().steps.empty(),
         "no backend timed all layers; add one that computes the whole model, such as onednn");
  std::map<std::string, std::vector<std::string>> moved;  // by backend
  for (const layer_of_backends& layer : all.models.front().layers) {
    if (layer.best.empty() || layer.best == of.backend || layer.primitive.inserted) continue;
    if (layer.primitive.layers.empty())
      throw usage_error("--format=plan: the result files are too old to name all layers");
    std::vector<std::string>& layers = moved[layer.best];
    layers.insert(layers.end(), layer.primitive.layers.begin(), layer.primitive.layers.end());
  }
  if (moved.empty()) throw nothing_matched("no layer is faster on another backend");
  json::value rules = json::value::array();
  for (const auto& [backend, layers] : moved)
    rules.push_back({{"layers", layers}, {"backend", backend}});
  return {{"name", "best_of_" + of.model},
          {"title", fmt::format("layers of {} on the fastest backends, for --backend={}", of.text(),
                                of.backend)},
          {"rules", rules}};
}

/// The comparison as JSON: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const backend_comparison& all) {
  json::value models = json::value::array();
  for (const model_of_backends& model : all.models) {
    json::value layers = json::value::array();
    for (const auto& [of, times, best] : model.layers) {
      layers.push_back({{"name", of.layer},
                        {"op", of.op},
                        {"pass", of.pass},
                        {"key", of.key},
                        {"count", of.count},
                        {"inserted", of.inserted},
                        {"seconds", times},
                        {"best", best}});
    }
    models.push_back(detail::case_fields(model.model_case));
    models.back().update({{"case", model.model_case.text()},
                          {"cache", model.cache},
                          {"steps", model.steps},
                          {"best_seconds", model.steps.empty() ? json::value(nullptr)
                                                               : json::value(model.best_seconds)},
                          {"moved_calls", model.moved_calls},
                          {"layers", layers}});
  }
  return {{"schema", 1},        {"across", name(compared_dimension::backend)},
          {"files", all.files}, {"margin", all.margin},
          {"notes", all.notes}, {"models", models}};
}

}  // namespace layerbench::analysis
