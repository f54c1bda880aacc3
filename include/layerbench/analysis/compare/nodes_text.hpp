// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/analysis/compare/usual_nodes.hpp>
#include <layerbench/analysis/compare/verdict.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/record.hpp>

/// Comparisons of nodes as text and as CSV.
namespace layerbench::analysis {

/// Reservations about a comparison of nodes, one sentence each.
[[nodiscard]] inline std::vector<std::string> notes(const node_comparison& all) {
  std::vector<std::string> sentences = all.file_notes;
  if (!all.forced.empty()) {
    sentences.push_back(
        fmt::format("forced: {}s also differ in {}", unit(all.across), fmt::join(all.forced, " ")));
  }
  detail::add_partial_models(all.models, sentences);
  std::vector<std::string> disturbed;
  for (const node& one : all.nodes) {
    if (one.disturbed <= result::much_disturbed) continue;
    disturbed.push_back(fmt::format("{} ({:.0f} %)", one.name, 100 * one.disturbed));
  }
  if (!disturbed.empty()) {
    sentences.push_back(
        fmt::format("something else used the processors during more than a tenth of the timings "
                    "of {}; measure again when the {}s are idle (--check-machine)",
                    fmt::join(disturbed, ", "), unit(all.across)));
  }
  if (!all.on_few_nodes.empty()) {
    sentences.push_back(fmt::format("{} rows are on fewer than {} {}s and are not compared",
                                    all.on_few_nodes.size(), min_nodes, unit(all.across)));
  }
  return sentences;
}

namespace detail {

/// The nodes that are slower or faster, one line for each model or layer in which they are.
[[nodiscard]] inline std::string named_text(const node_comparison& all) {
  constexpr std::size_t most = 20;
  const std::vector<named_node> named = named_nodes(all);
  std::string out;
  for (std::size_t i = 0; i < std::min(most, named.size()); ++i) {
    out += fmt::format("{} is {} than the usual {}s: {}\n", named[i].node->name,
                       difference_text(named[i].time->ratio), unit(all.across), named[i].of);
  }
  if (named.size() > most) out += fmt::format("{} more such differences\n", named.size() - most);
  if (!named.empty()) return out;
  return fmt::format("no {} is slower or faster than the others{}\n", unit(all.across),
                     all.models.empty() ? "" : " in its steps");
}

/// Indices of times, slowest node first.
[[nodiscard]] inline std::vector<std::size_t> slowest_first(const std::vector<node_time>& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return times[i].ratio.new_seconds; });
  return order;
}

/// The nodes of a model, slowest first. Of many nodes, those whose verdict is not `same` and the
/// slowest and fastest others, unless `every` one.
[[nodiscard]] inline table nodes_table(const node_comparison& all, const model_of_nodes& model,
                                       bool every) {
  using enum align;
  constexpr std::size_t ends = 5;  // of those that are the same, at both ends
  const std::string one(unit(all.across));
  table t{{{one}, {"step", right}, {one + " / usual", right}, {"95 % between", right}, {"verdict"}},
          {}};
  const std::vector<std::size_t> order = slowest_first(model.times);
  std::size_t hidden = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const node_time& time = model.times[order[place]];
    const bool middle = place >= ends && place + ends < order.size();
    if (!every && middle && order.size() > 3 * ends && !time.changed()) {
      ++hidden;
      continue;
    }
    t.rows.push_back({all.nodes[time.node].name, units::duration(time.ratio.new_seconds),
                      fmt::format("{:.3f}", time.ratio.value()), between_text(time.ratio),
                      verdict_text(time)});
  }
  if (hidden > 0) t.rows.push_back({fmt::format("{} more", hidden), "", "", "", ""});
  return t;
}

/// "  n5: half of the layers' changes: conv1 +0.31 ms (62 %)", one line per node.
[[nodiscard]] inline std::string top_contributors_text(const node_comparison& all,
                                                       const model_of_nodes& model) {
  std::string out;
  for (const node_time& time : model.times) {
    if (time.top_contributors.empty()) continue;
    out += fmt::format("  {}: {}\n", all.nodes[time.node].name,
                       contributors_text(time.top_contributors));
  }
  return out;
}

}  // namespace detail

/// All layers in which a node is slower or faster, largest differences first; up to 20 unless
/// `every` one, or `top`.
[[nodiscard]] inline table layers_table(const node_comparison& all, bool every,
                                        std::size_t top = 0) {
  using enum align;
  const std::size_t most = top > 0 ? top : 20;
  const std::string item(unit(all.across));
  table t{{{"layer"},
           {item},
           {"usual", right},
           {item, right},
           {item + " / usual", right},
           {"95 % between", right}},
          {}};
  std::vector<std::pair<const layer_of_nodes*, const node_time*>> changed;
  for (const layer_of_nodes& layer : all.layers) {
    for (const node_time& time : layer.times) {
      if (time.changed()) changed.emplace_back(&layer, &time);
    }
  }
  std::ranges::stable_sort(changed, std::ranges::greater{}, [](const auto& one) {
    return std::abs(std::log(one.second->ratio.value()));
  });
  for (const auto& [layer, time] : changed) {
    if (!every && t.rows.size() == most) break;
    t.rows.push_back(
        {layer->row.name, all.nodes[time->node].name, units::duration(time->ratio.old_seconds),
         units::duration(time->ratio.new_seconds), fmt::format("{:.3f}", time->ratio.value()),
         detail::between_text(time->ratio)});
  }
  if (changed.size() > t.rows.size()) {
    std::vector<std::string> cells(t.columns.size());
    cells.front() = fmt::format("{} more", changed.size() - t.rows.size());
    t.rows.push_back(std::move(cells));
  }
  return t;
}

/// The named nodes, the notes, a table of nodes for each model with the layers that contribute most
/// to the differences of named nodes, a table of layers, and what is not compared.
[[nodiscard]] inline std::string text(const node_comparison& all, const layers_shown& how = {}) {
  std::vector<std::string> names;
  for (const node& one : all.nodes) names.push_back(one.name);
  std::string out = fmt::format("{} {}s: {}\n{}", names.size(), unit(all.across),
                                fmt::join(names, " "), detail::named_text(all));
  for (const std::string& note : notes(all)) out += "note: " + note + '\n';
  for (const model_of_nodes& model : all.models) {
    out += fmt::format("\n{}{}: {} on the usual {}s\n", headline(model.model_case, model.threads),
                       model.cache == "hot" ? ", hot" : "", units::duration(model.usual_seconds),
                       unit(all.across)) +
           text(detail::nodes_table(all, model, how.all)) +
           detail::top_contributors_text(all, model);
  }
  const table layers = layers_table(all, how.all, how.top);
  out += '\n';
  if (layers.rows.empty()) {
    out += fmt::format("{} layers: no {} is slower or faster in any of them\n", all.layers.size(),
                       unit(all.across));
  } else {
    out += text(layers);
  }
  for (const uncompared& left_out : all.left_out) {
    out += fmt::format("not compared: {}: {}\n", left_out.model_case.text(), left_out.reason);
  }
  return out;
}

/// One row per model and node, then one per layer and node.
[[nodiscard]] inline table records(const node_comparison& all) {
  table t = table_with_columns(
      "kind node id name ratio low high verdict p usual_seconds seconds rounds forced");
  const std::string forced = fmt::format("{}", fmt::join(all.forced, " "));
  const auto add = [&](const char* kind, const std::string& id, const std::string& row,
                       const std::vector<node_time>& times) {
    for (const node_time& time : times) {
      const time_ratio& ratio = time.ratio;
      t.rows.push_back({kind, all.nodes[time.node].name, id, row, format::exact(ratio.value()),
                        format::exact(ratio.low), format::exact(ratio.high),
                        std::string(name(time.verdict)), ratio.p ? format::exact(time.p) : "",
                        format::exact(ratio.old_seconds), format::exact(ratio.new_seconds),
                        std::to_string(ratio.new_rounds), forced});
    }
  };
  for (const model_of_nodes& model : all.models)
    add("model", model.model_case.text(), model.model_case.model, model.times);
  for (const layer_of_nodes& layer : all.layers)
    add("layer", layer.row.id, layer.row.name, layer.times);
  return t;
}

}  // namespace layerbench::analysis
