// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

LAYERBENCH_INLINE json::value rows_json(const std::vector<identified_row>& rows) {
  json::value list = json::value::array();
  for (const auto& row : rows) list.push_back({{"id", row.id}, {"name", row.name}});
  return list;
}

LAYERBENCH_INLINE json::value ratio_json(const compared& of) {
  const time_ratio& ratio = of.ratio;
  return {{"ratio", ratio.value()},
          {"low", ratio.has_interval() ? json::value(ratio.low) : json::value(nullptr)},
          {"high", ratio.has_interval() ? json::value(ratio.high) : json::value(nullptr)},
          {"verdict", name(of.verdict)},
          {"p", ratio.p ? json::value(of.p) : json::value(nullptr)}};
}

/// Adds the members that layers and models have in common.
inline void add_compared(json::value& to, const compared& of) {
  const time_ratio& ratio = of.ratio;
  to.update(ratio_json(of));
  if (of.unit == "s") {
    to.update({{"old_seconds", ratio.old_seconds}, {"new_seconds", ratio.new_seconds}});
  } else {
    to.update({{"old_value", of.value(ratio.old_seconds)},
               {"new_value", of.value(ratio.new_seconds)},
               {"unit", of.unit},
               {"higher_is_better", of.higher_is_better}});
  }
  to.update({{"old_rounds", ratio.old_rounds},
             {"new_rounds", ratio.new_rounds},
             {"detectable", or_null(of.detectable)}});
}

LAYERBENCH_INLINE json::value drivers_json(const std::vector<contributor>& all) {
  json::value list = json::value::array();
  for (const contributor& layer : all) {
    list.push_back({{"name", layer.name},
                    {"op", layer.op},
                    {"pass", layer.pass},
                    {"key", layer.key},
                    {"old_seconds", layer.old_seconds},
                    {"new_seconds", layer.new_seconds},
                    {"share", layer.share}});
  }
  return list;
}

LAYERBENCH_INLINE json::value uncompared_json(const std::vector<uncompared>& all) {
  json::value list = json::value::array();
  for (const uncompared& other : all) {
    list.push_back({{"case", other.model_case.text()}, {"reason", other.reason}});
  }
  return list;
}

[[nodiscard]] inline json::value model_json(const compared_model& of) {
  json::value result = case_fields(of.model_case);
  result.update({{"case", of.model_case.text()},
                 {"cache", of.cache},
                 {"old_threads", of.old_threads},
                 {"new_threads", of.new_threads}});
  add_compared(result, of);
  result["left_out"] = or_null(of.left_out);
  result["drivers"] = drivers_json(of.top_contributors);
  return result;
}

}  // namespace detail

LAYERBENCH_INLINE json::value to_json(const comparison& all) {
  const difference& how = all.difference;
  json::value layers = json::value::array();
  for (const compared_layer& layer : all.layers) {
    json::value result{{"id", layer.row.id}, {"name", layer.row.name}};
    detail::add_compared(result, layer);
    layers.push_back(std::move(result));
  }
  json::value models = json::value::array();
  for (const auto& model : all.models) models.push_back(detail::model_json(model));
  json::value result{
      {"schema", 1},
      {"old", all.old_files},
      {"new", all.new_files},
      {"old_loaded", all.old_loaded},
      {"new_loaded", all.new_loaded},
      {"paired", all.paired},
      {"across", how.dimension ? json::value(name(*how.dimension)) : json::value(nullptr)},
      {"inferred", how.inferred},
      {"differing", how.fields},
      {"forced", how.forced},
      {"margin", all.margin},
      {"false_alarm_rate", all.paired ? json::value(pair_significance) : json::value(nullptr)},
      {"notes", notes(all)},
      {"layers", layers},
      {"models", models},
      {"only_old", detail::rows_json(all.only_old)},
      {"only_new", detail::rows_json(all.only_new)},
      {"uncompared", detail::uncompared_json(all.left_out)}};
  if (all.format.empty()) return result;
  result["format"] = all.format;
  result["sum"] = nullptr;
  if (!all.sum.empty()) {
    result["sum"] = json::value::object();
    detail::add_compared(result["sum"], all.sum.front());
  }
  return result;
}

}  // namespace layerbench::analysis
