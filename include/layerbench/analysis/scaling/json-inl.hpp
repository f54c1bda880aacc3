// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/scaling/json.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline json::value link_json(const link& of) {
  return {{"topology", name(of.topology)}, {"alpha", of.alpha}, {"beta", of.beta}};
}

[[nodiscard]] inline json::value network_json(const network& of) {
  json::value result{{"name", of.name}, {"title", of.title}, {"source", of.source}};
  if (of.max_devices) result["devices"] = *of.max_devices;
  if (const auto* described = std::get_if<link>(&of.how)) {
    result.update(link_json(*described));
  } else if (const auto* table = std::get_if<collective_table>(&of.how)) {
    result["measured"] = table->devices();
    result["fitted"] = link_json(table->model().link);
    result["fitted"]["residual"] = or_null(table->model().residual);
  } else {
    const hierarchy& nodes = *std::get<std::shared_ptr<const hierarchy>>(of.how);
    result["topology"] = "hierarchical";
    result["devices_per_node"] = nodes.devices_per_node;
    result["adapters"] = nodes.adapters;
    result["intra"] = network_json(nodes.intra);
    result["inter"] = network_json(nodes.inter);
  }
  return result;
}

[[nodiscard]] inline json::value buckets_json(const compute_step& of) {
  json::value list = json::value::array();
  for (const timed_bucket& bucket : of.buckets) {
    list.push_back({{"bytes", bucket.what.bytes}, {"layers", bucket.what.layers}});
  }
  return list;
}

[[nodiscard]] inline json::value scaled_step_json(const scaled_step& of) {
  const auto if_known = [&](double bound) {
    return of.is_interval() ? json::value(bound) : json::value();
  };
  return {{"devices", of.devices},
          {"batch", of.batch},
          {"global_batch", of.devices * of.batch},
          {"contention", of.contention.factors.usual.computing},
          {"sending_contention", of.contention.factors.usual.sending},
          {"contention_from", name(of.contention.from)},
          {"contention_files", of.contention.files},
          {"seconds_per_step", of.step.seconds},
          {"seconds_low", if_known(of.seconds_low)},
          {"seconds_high", if_known(of.seconds_high)},
          {"images_per_second", of.images_per_second()},
          {"efficiency", of.efficiency},
          {"communication_seconds", of.step.communication},
          {"exposed_seconds", of.step.exposed},
          {"slowed_seconds", of.step.slowed},
          {"full_overlap_seconds", of.step.full_overlap},
          {"no_overlap_seconds", of.step.no_overlap},
          {"extrapolated", of.extrapolated}};
}

[[nodiscard]] inline json::value data_parallel_json(const data_parallel& of) {
  json::value steps = json::value::array();
  for (const scaled_step& step : of.steps) steps.push_back(scaled_step_json(step));
  return {{"network", network_json(of.how.interconnect)},
          {"scaling", name(of.how.scaling)},
          {"buckets", buckets_json(*of.computed.front())},
          {"steps", steps}};
}

}  // namespace detail

LAYERBENCH_INLINE json::value to_json(std::span<const data_parallel> all) {
  json::value list = json::value::array();
  for (const data_parallel& of : all) {
    list.push_back(detail::prediction_json(of.single));
    list.back()["data_parallel"] = detail::data_parallel_json(of);
  }
  return {{"schema", 1}, {"predictions", list}};
}

LAYERBENCH_INLINE void add_contentions(json::value& to,
                                       std::span<const measured_contention> measured) {
  for (const measured_contention& contention : measured) {
    const auto& [usual, low, high] = contention.factors;
    json::value& added =
        to["contentions"].emplace_back(json::value{{"case", contention.model_case.text()},
                                                   {"files", contention.files},
                                                   {"ratio", usual.computing},
                                                   {"low", low.computing},
                                                   {"high", high.computing},
                                                   {"disturbed", contention.disturbed}});
    added["sending"] = nullptr;
    if (contention.sending_known) {
      added["sending"] = {{"ratio", usual.sending}, {"low", low.sending}, {"high", high.sending}};
    }
  }
}

}  // namespace layerbench::analysis
