// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/analysis/compare/nodes_text.hpp>
#include <layerbench/analysis/compare/verdict.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/shape/record.hpp>

/// Comparisons of nodes as JSON.
namespace layerbench::analysis {

namespace detail {

/// The times of all nodes; with the primitives that contribute most if `drivers`.
[[nodiscard]] inline json::value times_json(const node_comparison& all,
                                            const std::vector<node_time>& times, bool drivers) {
  json::value list = json::value::array();
  for (const node_time& time : times) {
    json::value result{{"node", all.nodes[time.node].name}};
    result.update(ratio_json(time));
    result.update({{"seconds", time.ratio.new_seconds}, {"rounds", time.ratio.new_rounds}});
    if (drivers) result["drivers"] = drivers_json(time.top_contributors);
    list.push_back(std::move(result));
  }
  return list;
}

/// The names of nodes with that verdict, each once.
[[nodiscard]] inline std::vector<std::string> names_with(const node_comparison& all,
                                                         verdict which) {
  std::vector<std::string> names;
  for (const named_node& one : named_nodes(all)) {
    if (one.time->verdict != which) continue;
    if (std::ranges::find(names, one.node->name) == names.end()) names.push_back(one.node->name);
  }
  return names;
}

}  // namespace detail

/// The comparison as JSON: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const node_comparison& all) {
  json::value nodes = json::value::array();
  for (const node& one : all.nodes) {
    nodes.push_back({{"node", one.name}, {"files", one.files}, {"disturbed", one.disturbed}});
  }
  json::value models = json::value::array();
  for (const model_of_nodes& model : all.models) {
    models.push_back(detail::case_fields(model.model_case));
    models.back().update({{"case", model.model_case.text()},
                          {"cache", model.cache},
                          {"threads", model.threads},
                          {"usual_seconds", model.usual_seconds},
                          {"nodes", detail::times_json(all, model.times, true)}});
  }
  json::value layers = json::value::array();
  for (const layer_of_nodes& layer : all.layers) {
    layers.push_back({{"id", layer.row.id},
                      {"name", layer.row.name},
                      {"usual_seconds", layer.usual_seconds},
                      {"nodes", detail::times_json(all, layer.times, false)}});
  }
  return {{"schema", 1},
          {"across", name(all.across)},
          {"nodes", nodes},
          {"slower", detail::names_with(all, verdict::slower)},
          {"faster", detail::names_with(all, verdict::faster)},
          {"forced", all.forced},
          {"margin", all.margin},
          {"notes", notes(all)},
          {"models", models},
          {"layers", layers},
          {"on_few_nodes", detail::rows_json(all.on_few_nodes)},
          {"uncompared", detail::uncompared_json(all.left_out)}};
}

}  // namespace layerbench::analysis
