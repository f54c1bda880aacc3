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

#include <layerbench/base/units.hpp>
#include <layerbench/predict/comparison.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/report/sides.hpp>
#include <layerbench/report/table.hpp>
#include <layerbench/shape/json.hpp>

/// What became faster or slower, for people, for programs and as CSV.
namespace layerbench::report {

namespace detail {

[[nodiscard]] inline std::string verdict_text(const predict::judged& of) {
  const std::string word(name(of.verdict));
  return of.ratio.p ? word : word + ", too few rounds";
}

/// The interval of a ratio; of few rounds, or pairs, their extremes, where there are several.
[[nodiscard]] inline std::string between_text(const predict::time_ratio& of) {
  if (!of.p && of.low == of.high) return "not known";
  return fmt::format("{:.3f} to {:.3f}", of.low, of.high);
}

/// The cells that layers and models have in common: both times, their ratio, what it says.
[[nodiscard]] inline std::vector<std::string> judged_cells(const predict::judged& of) {
  const predict::time_ratio& ratio = of.ratio;
  return {units::duration(ratio.old_seconds), units::duration(ratio.new_seconds),
          fmt::format("{:.3f}", ratio.value()), between_text(ratio), verdict_text(of)};
}

[[nodiscard]] inline table judged_table(std::string title) {
  using enum align;
  return {{{std::move(title)},
           {"old", right},
           {"new", right},
           {"new / old", right},
           {"95 % between", right},
           {"verdict"}},
          {}};
}

inline void add_row(table& to, std::string first, const predict::judged& of) {
  std::vector<std::string> cells = judged_cells(of);
  cells.insert(cells.begin(), std::move(first));
  to.rows.push_back(std::move(cells));
}

[[nodiscard]] inline std::string headline(const predict::compared_model& of) {
  std::string text = headline(of.owner, of.new_threads);
  if (of.old_threads != of.new_threads) text += fmt::format(" (old: {})", of.old_threads);
  return of.cache == "hot" ? text + ", hot" : text;
}

/// The layers that drive a model's change, a line: "case: conv1 +0.31 ms (62 % of all changes)".
[[nodiscard]] inline std::string drivers_text(const predict::compared_model& of) {
  constexpr std::size_t most = 5;
  std::vector<std::string> words;
  for (const predict::driver& each : of.drivers) {
    if (words.size() == most) {
      words.push_back(fmt::format("{} more", of.drivers.size() - most));
      break;
    }
    words.push_back(
        fmt::format("{} {:+.3g} ms ({:.0f} %)", each.name, each.change() * 1e3, each.share * 100));
  }
  if (words.empty()) return {};
  return fmt::format("  {}: half of the layers' changes: {}\n", headline(of),
                     fmt::join(words, ", "));
}

/// The same of all models, a line each.
[[nodiscard]] inline std::string drivers_text(const predict::comparison& all) {
  std::string out;
  for (const predict::compared_model& each : all.models) out += drivers_text(each);
  return out;
}

}  // namespace detail

/// The predicted steps.
[[nodiscard]] inline table compared_models(const predict::comparison& all) {
  table t = detail::judged_table("predicted step");
  for (const auto& each : all.models) detail::add_row(t, detail::headline(each), each);
  return t;
}

/// All layers that became faster or slower, largest changes first, and a few of the others, unclear
/// ones first.
[[nodiscard]] inline table compared_layers(const predict::comparison& all) {
  constexpr std::size_t few = 10;
  std::vector<const predict::compared_layer*> sorted;
  for (const predict::compared_layer& each : all.layers) sorted.push_back(&each);
  const auto rank = [](const predict::compared_layer* each) {
    return std::tuple{each->changed(), each->verdict == predict::verdict::unclear,
                      std::abs(std::log(each->ratio.value()))};
  };
  std::ranges::stable_sort(sorted, std::ranges::greater{}, rank);
  table t = detail::judged_table("layer");
  for (const predict::compared_layer* each : sorted) {
    if (t.rows.size() < few || each->changed()) detail::add_row(t, each->row.name, *each);
  }
  if (const std::size_t rest = sorted.size() - t.rows.size(); rest > 0) {
    t.rows.push_back({fmt::format("{} more", rest), "", "", "", "", ""});
  }
  return t;
}

namespace detail {

/// How many layers there are of each kind.
[[nodiscard]] inline std::string verdicts_text(const predict::comparison& all) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < enum_names<predict::verdict>.size(); ++i) {
    const auto kind = static_cast<predict::verdict>(i);
    words.push_back(fmt::format(
        "{} {}", std::ranges::count(all.layers, kind, &predict::compared_layer::verdict),
        name(kind)));
  }
  return fmt::format("{} layers: {}; the same: within {:.4g} %\n", all.layers.size(),
                     fmt::join(words, ", "), all.margin * 100);
}

[[nodiscard]] inline std::string one_sided_text(std::string_view side,
                                                const std::vector<predict::identified_row>& rows) {
  constexpr std::size_t most = 10;
  if (rows.empty()) return {};
  std::string out =
      fmt::format("only {}: {} row{}\n", side, rows.size(), rows.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) out += "  " + rows[i].name + '\n';
  return rows.size() > most ? out + fmt::format("  {} more\n", rows.size() - most) : out;
}

/// How many layers there are of each kind, and what is on one side only.
[[nodiscard]] inline std::string remarks(const predict::comparison& all) {
  std::string out = detail::verdicts_text(all) + detail::one_sided_text("old", all.only_old) +
                    detail::one_sided_text("new", all.only_new);
  for (const predict::uncompared& each : all.left_out) {
    out += fmt::format("not compared: {}: {}\n", each.owner.text(), each.reason);
  }
  return out;
}

}  // namespace detail

/// What is compared; a table of models with the layers that drive their changes, and one of layers;
/// what is on one side only.
[[nodiscard]] inline std::string text(const predict::comparison& all) {
  std::string out = sides(all);
  if (!all.models.empty()) out += text(compared_models(all)) + detail::drivers_text(all) + '\n';
  if (!all.layers.empty()) out += text(compared_layers(all)) + '\n';
  return out + detail::remarks(all);
}

namespace detail {

[[nodiscard]] inline json::value rows_json(const std::vector<predict::identified_row>& rows) {
  json::value list = json::value::array();
  for (const auto& each : rows) list.push_back({{"id", each.id}, {"name", each.name}});
  return list;
}

/// Adds the members that layers and models have in common.
inline void add_judged(json::value& to, const predict::judged& of) {
  const predict::time_ratio& ratio = of.ratio;
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

[[nodiscard]] inline json::value model_json(const predict::compared_model& of) {
  json::value made{
      {"model", of.owner.model}, {"phase", of.owner.phase()},     {"backend", of.owner.backend},
      {"dtype", of.owner.dtype}, {"batch", of.owner.batch},       {"case", of.owner.text()},
      {"cache", of.cache},       {"old_threads", of.old_threads}, {"new_threads", of.new_threads}};
  add_judged(made, of);
  made["drivers"] = json::value::array();
  for (const predict::driver& each : of.drivers) {
    made["drivers"].push_back({{"name", each.name},
                               {"op", each.op},
                               {"pass", each.pass},
                               {"key", each.key},
                               {"old_seconds", each.old_seconds},
                               {"new_seconds", each.new_seconds},
                               {"share", each.share}});
  }
  return made;
}

}  // namespace detail

/// For programs: the contract of docs/formats.md.
[[nodiscard]] inline json::value to_json(const predict::comparison& all) {
  const predict::difference& how = all.difference;
  json::value layers = json::value::array();
  for (const predict::compared_layer& each : all.layers) {
    json::value made{{"id", each.row.id}, {"name", each.row.name}};
    detail::add_judged(made, each);
    layers.push_back(std::move(made));
  }
  json::value models = json::value::array();
  for (const auto& each : all.models) models.push_back(detail::model_json(each));
  json::value left_out = json::value::array();
  for (const predict::uncompared& each : all.left_out) {
    left_out.push_back({{"case", each.owner.text()}, {"reason", each.reason}});
  }
  return {{"schema", 1},
          {"old", all.old_files},
          {"new", all.new_files},
          {"old_loaded", all.old_loaded},
          {"new_loaded", all.new_loaded},
          {"paired", all.paired},
          {"across", how.across ? json::value(name(*how.across)) : json::value(nullptr)},
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
[[nodiscard]] inline table records(const predict::comparison& all) {
  table t = titled(
      "kind id name ratio low high verdict p old_seconds new_seconds old_rounds new_rounds forced");
  const std::string forced = fmt::format("{}", fmt::join(all.difference.forced, " "));
  const auto add = [&](const char* kind, const std::string& id, const std::string& row,
                       const predict::judged& of) {
    const predict::time_ratio& ratio = of.ratio;
    t.rows.push_back({kind, id, row, detail::exact(ratio.value()), detail::exact(ratio.low),
                      detail::exact(ratio.high), std::string(name(of.verdict)),
                      ratio.p ? detail::exact(of.p) : "", detail::exact(ratio.old_seconds),
                      detail::exact(ratio.new_seconds), std::to_string(ratio.old_rounds),
                      std::to_string(ratio.new_rounds), forced});
  };
  for (const auto& each : all.models) add("model", each.owner.text(), each.owner.model, each);
  for (const auto& each : all.layers) add("layer", each.row.id, each.row.name, each);
  const auto add_only = [&](const char* kind, const std::vector<predict::identified_row>& rows) {
    for (const auto& each : rows) {
      t.rows.push_back({kind, each.id, each.name});
      t.rows.back().resize(t.columns.size());
      t.rows.back().back() = forced;
    }
  };
  add_only("only_old", all.only_old);
  add_only("only_new", all.only_new);
  return t;
}

}  // namespace layerbench::report
