// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline json::value point_json(const curve_point& of) {
  const auto if_known = [&](double bound) {
    return of.has_interval ? json::value(bound) : json::value(nullptr);
  };
  return {{"size", of.size},
          {"seconds_per_step", of.seconds},
          {"seconds_low", if_known(of.low)},
          {"seconds_high", if_known(of.high)},
          {"seconds_p99", of.slowest > 0 ? json::value(of.slowest) : json::value(nullptr)},
          {"items_per_second", of.per_second()},
          {"from", name(of.from)}};
}

[[nodiscard]] inline json::value curve_json(const curve& of) {
  const prediction& first = of.measured.front();
  const auto size_or_null = [](const curve_point* one) {
    return one == nullptr ? json::value(nullptr) : json::value(one->size);
  };
  json::value checks = json::value::array();
  for (const left_out_check& check : of.checks) {
    checks.push_back({{"size", check.size},
                      {"seconds_measured", check.measured},
                      {"seconds_predicted", check.predicted}});
  }
  json::value anchors = json::value::array();
  for (const anchor& one : of.anchors) {
    anchors.push_back({{"size", one.size}, {"chain_over_sum", one.ratio}});
  }
  json::value points = json::value::array();
  for (const curve_point& one : of.points) points.push_back(point_json(one));
  json::value result = case_fields(first.model_case);
  result.update({{"threads", first.threads},
                 {"streams", first.model_case.streams()},
                 {"case", first.model_case.text()},
                 {"files", first.files},
                 {"over", name(of.over)},
                 {"items", first.text ? "tokens" : "images"},
                 {"partial", std::ranges::any_of(of.measured, &prediction::partial)},
                 {"measured", of.sizes},
                 {"fastest", size_or_null(of.fastest())},
                 {"knee", size_or_null(of.knee())},
                 {"latency_limit_seconds", or_null(of.most_seconds)},
                 {"best_within_limit", size_or_null(of.best_within_limit())},
                 {"spread_per_octave", of.spread},
                 {"anchors", std::move(anchors)},
                 {"left_out", std::move(checks)},
                 {"points", std::move(points)}});
  return result;
}

}  // namespace detail

[[nodiscard]] inline json::value to_json(std::span<const curve> curves) {
  json::value list = json::value::array();
  for (const curve& of : curves) list.push_back(detail::curve_json(of));
  json::value best = json::value::array();
  for (const curve* of : best_of(curves)) {
    const curve_point* one = of->best();
    const prediction& first = of->measured.front();
    best.push_back({{"model", first.model_case.model},
                    {"phase", first.model_case.phase()},
                    {"case", nullptr},
                    {"threads", nullptr},
                    {"streams", nullptr},
                    {"point", nullptr}});
    if (one == nullptr) continue;
    best.back().update({{"case", first.model_case.text()},
                        {"threads", first.threads},
                        {"streams", first.model_case.streams()},
                        {"point", detail::point_json(*one)}});
  }
  return {{"schema", 1}, {"curves", list}, {"best", best}};
}

}  // namespace layerbench::analysis
