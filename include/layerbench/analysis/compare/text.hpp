// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/report/comparison_header.hpp>
#include <layerbench/shape/json.hpp>

/// What became faster or slower, for people, for programs and as CSV.
namespace layerbench::report {

namespace detail {

[[nodiscard]] inline std::string verdict_text(const analysis::compared& of) {
  const std::string word(name(of.verdict));
  return of.ratio.p ? word : word + ", too few rounds";
}

/// The interval of a ratio; of few rounds, or pairs, their extremes, where there are several.
[[nodiscard]] inline std::string between_text(const analysis::time_ratio& of) {
  if (!of.p && of.low == of.high) return "not known";
  return fmt::format("{:.3f} to {:.3f}", of.low, of.high);
}

/// The cells that layers and models have in common: both times, their ratio, what it says.
[[nodiscard]] inline std::vector<std::string> compared_cells(const analysis::compared& of) {
  const analysis::time_ratio& ratio = of.ratio;
  return {units::duration(ratio.old_seconds), units::duration(ratio.new_seconds),
          fmt::format("{:.3f}", ratio.value()), between_text(ratio), verdict_text(of)};
}

[[nodiscard]] inline table compared_table(std::string title) {
  using enum align;
  return {{{std::move(title)},
           {"old", right},
           {"new", right},
           {"new / old", right},
           {"95 % between", right},
           {"verdict"}},
          {}};
}

inline void add_row(table& to, std::string first, const analysis::compared& of) {
  std::vector<std::string> cells = compared_cells(of);
  cells.insert(cells.begin(), std::move(first));
  to.rows.push_back(std::move(cells));
}

[[nodiscard]] inline std::string headline(const analysis::compared_model& of) {
  std::string text = headline(of.configuration, of.new_threads);
  if (of.old_threads != of.new_threads) text += fmt::format(" (old: {})", of.old_threads);
  return of.cache == "hot" ? text + ", hot" : text;
}

/// The layers that drive a model's change, a line: "case: conv1 +0.31 ms (62 % of all changes)".
[[nodiscard]] inline std::string top_contributors_text(const analysis::compared_model& of) {
  constexpr std::size_t most = 5;
  std::vector<std::string> words;
  for (const analysis::contributor& top_contributor : of.top_contributors) {
    if (words.size() == most) {
      words.push_back(fmt::format("{} more", of.top_contributors.size() - most));
      break;
    }
    words.push_back(fmt::format("{} {:+.3g} ms ({:.0f} %)", top_contributor.name,
                                top_contributor.change() * 1e3, top_contributor.share * 100));
  }
  if (words.empty()) return {};
  return fmt::format("  {}: half of the layers' changes: {}\n", headline(of),
                     fmt::join(words, ", "));
}

/// The same of all models, a line each.
[[nodiscard]] inline std::string top_contributors_text(const analysis::comparison& all) {
  std::string out;
  for (const analysis::compared_model& model : all.models) out += top_contributors_text(model);
  return out;
}

}  // namespace detail

/// The predicted steps.
[[nodiscard]] inline table compared_models(const analysis::comparison& all) {
  table t = detail::compared_table("predicted step");
  for (const auto& model : all.models) detail::add_row(t, detail::headline(model), model);
  return t;
}

/// All layers that became faster or slower, largest changes first, and a few of the others, unclear
/// ones first.
[[nodiscard]] inline table compared_layers(const analysis::comparison& all) {
  constexpr std::size_t few = 10;
  std::vector<const analysis::compared_layer*> sorted;
  for (const analysis::compared_layer& item : all.layers) sorted.push_back(&item);
  const auto rank = [](const analysis::compared_layer* layer) {
    return std::tuple{layer->changed(), layer->verdict == analysis::verdict::unclear,
                      std::abs(std::log(layer->ratio.value()))};
  };
  std::ranges::stable_sort(sorted, std::ranges::greater{}, rank);
  table t = detail::compared_table("layer");
  for (const analysis::compared_layer* compared_layer : sorted) {
    if (t.rows.size() < few || compared_layer->changed())
      detail::add_row(t, compared_layer->row.name, *compared_layer);
  }
  if (const std::size_t rest = sorted.size() - t.rows.size(); rest > 0) {
    t.rows.push_back({fmt::format("{} more", rest), "", "", "", "", ""});
  }
  return t;
}

namespace detail {

/// How many layers there are of each kind.
[[nodiscard]] inline std::string verdicts_text(const analysis::comparison& all) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < enum_names<analysis::verdict>.size(); ++i) {
    const auto kind = static_cast<analysis::verdict>(i);
    words.push_back(fmt::format(
        "{} {}", std::ranges::count(all.layers, kind, &analysis::compared_layer::verdict),
        name(kind)));
  }
  return fmt::format("{} layers: {}; the same: within {:.4g} %\n", all.layers.size(),
                     fmt::join(words, ", "), all.margin * 100);
}

[[nodiscard]] inline std::string one_sided_text(std::string_view side,
                                                const std::vector<analysis::identified_row>& rows) {
  constexpr std::size_t most = 10;
  if (rows.empty()) return {};
  std::string out =
      fmt::format("only {}: {} row{}\n", side, rows.size(), rows.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) out += "  " + rows[i].name + '\n';
  return rows.size() > most ? out + fmt::format("  {} more\n", rows.size() - most) : out;
}

/// How many layers there are of each kind, and what is on one side only.
[[nodiscard]] inline std::string remarks(const analysis::comparison& all) {
  std::string out = detail::verdicts_text(all) + detail::one_sided_text("old", all.only_old) +
                    detail::one_sided_text("new", all.only_new);
  for (const analysis::uncompared& uncompared : all.left_out) {
    out +=
        fmt::format("not compared: {}: {}\n", uncompared.configuration.text(), uncompared.reason);
  }
  return out;
}

}  // namespace detail

/// What is compared; a table of models with the layers that drive their changes, and one of layers;
/// what is on one side only.
[[nodiscard]] inline std::string text(const analysis::comparison& all) {
  std::string out = comparison_header(all);
  if (!all.models.empty())
    out += text(compared_models(all)) + detail::top_contributors_text(all) + '\n';
  if (!all.layers.empty()) out += text(compared_layers(all)) + '\n';
  return out + detail::remarks(all);
}

namespace detail {

[[nodiscard]] inline json::value rows_json(const std::vector<analysis::identified_row>& rows) {
  json::value list = json::value::array();
  for (const auto& row : rows) list.push_back({{"id", row.id}, {"name", row.name}});
  return list;
}

/// Adds the members that layers and models have in common.
inline void add_compared(json::value& to, const analysis::compared& of) {
  const analysis::time_ratio& ratio = of.ratio;
  to.update({{"ratio", ratio.value()},
             {"low", ratio.low},
             {"high", ratio.high},
             {"verdict", name(of.verdict)},
             {"p", ratio.p ? json::value(of.p) : json::value(nullptr)},
             {"old_seconds", ratio.old_seconds},
             {"new_seconds", ratio.new_seconds},
             {"old_rounds", ratio.old_rounds},
             {"new_rounds", ratio.new_rounds}});
}

[[nodiscard]] inline json::value model_json(const analysis::compared_model& of) {
  json::value result{{"model", of.configuration.model},
                     {"phase", of.configuration.phase()},
                     {"backend", of.configuration.backend},
                     {"dtype", of.configuration.dtype},
                     {"batch", of.configuration.batch},
                     {"case", of.configuration.text()},
                     {"cache", of.cache},
                     {"old_threads", of.old_threads},
                     {"new_threads", of.new_threads}};
  add_compared(result, of);
  result["drivers"] = json::value::array();
  for (const analysis::contributor& top_contributor : of.top_contributors) {
    result["drivers"].push_back({{"name", top_contributor.name},
                                 {"op", top_contributor.op},
                                 {"pass", top_contributor.pass},
                                 {"key", top_contributor.key},
                                 {"old_seconds", top_contributor.old_seconds},
                                 {"new_seconds", top_contributor.new_seconds},
                                 {"share", top_contributor.share}});
  }
  return result;
}

}  // namespace detail

/// For programs: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const analysis::comparison& all) {
  const analysis::difference& how = all.difference;
  json::value layers = json::value::array();
  for (const analysis::compared_layer& layer : all.layers) {
    json::value result{{"id", layer.row.id}, {"name", layer.row.name}};
    detail::add_compared(result, layer);
    layers.push_back(std::move(result));
  }
  json::value models = json::value::array();
  for (const auto& model : all.models) models.push_back(detail::model_json(model));
  json::value left_out = json::value::array();
  for (const analysis::uncompared& uncompared : all.left_out) {
    left_out.push_back({{"case", uncompared.configuration.text()}, {"reason", uncompared.reason}});
  }
  return {{"schema", 1},
          {"old", all.old_files},
          {"new", all.new_files},
          {"old_loaded", all.old_loaded},
          {"new_loaded", all.new_loaded},
          {"paired", all.paired},
          {"across", how.compared_dimension ? json::value(name(*how.compared_dimension))
                                            : json::value(nullptr)},
          {"inferred", how.inferred},
          {"differing", how.fields},
          {"forced", how.forced},
          {"margin", all.margin},
          {"notes", notes(all)},
          {"layers", layers},
          {"models", models},
          {"only_old", detail::rows_json(all.only_old)},
          {"only_new", detail::rows_json(all.only_new)},
          {"uncompared", left_out}};
}

/// One row a model, then one a layer, those of one side last and without numbers.
[[nodiscard]] inline table records(const analysis::comparison& all) {
  table t = table_with_columns(
      "kind id name ratio low high verdict p old_seconds new_seconds old_rounds new_rounds forced");
  const std::string forced = fmt::format("{}", fmt::join(all.difference.forced, " "));
  const auto add = [&](const char* kind, const std::string& id, const std::string& row,
                       const analysis::compared& of) {
    const analysis::time_ratio& ratio = of.ratio;
    t.rows.push_back({kind, id, row, detail::exact(ratio.value()), detail::exact(ratio.low),
                      detail::exact(ratio.high), std::string(name(of.verdict)),
                      ratio.p ? detail::exact(of.p) : "", detail::exact(ratio.old_seconds),
                      detail::exact(ratio.new_seconds), std::to_string(ratio.old_rounds),
                      std::to_string(ratio.new_rounds), forced});
  };
  for (const auto& model : all.models)
    add("model", model.configuration.text(), model.configuration.model, model);
  for (const auto& layer : all.layers) add("layer", layer.row.id, layer.row.name, layer);
  const auto add_only = [&](const char* kind, const std::vector<analysis::identified_row>& rows) {
    for (const auto& item : rows) {
      t.rows.push_back({kind, item.id, item.name});
      t.rows.back().resize(t.columns.size());
      t.rows.back().back() = forced;
    }
  };
  add_only("only_old", all.only_old);
  add_only("only_new", all.only_new);
  return t;
}

}  // namespace layerbench::report
