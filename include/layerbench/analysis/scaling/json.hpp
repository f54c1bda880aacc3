// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/scaling/scaling.hpp>

/// Training on many devices for programs: the contract of docs/formats.md.
namespace layerbench::report {

namespace detail {

[[nodiscard]] inline json::value link_json(const analysis::link& of) {
  return {{"topology", name(of.topology)}, {"alpha", of.alpha}, {"beta", of.beta}};
}

[[nodiscard]] inline json::value network_json(const analysis::network& of) {
  json::value result{{"name", of.name}, {"title", of.title}, {"source", of.source}};
  if (of.most) result["devices"] = *of.most;
  if (const auto* described = std::get_if<analysis::link>(&of.how)) {
    result.update(link_json(*described));
  } else if (const auto* table = std::get_if<analysis::collective_table>(&of.how)) {
    result["measured"] = table->devices();
    result["fitted"] = link_json(table->model().link);
    result["fitted"]["residual"] = table->model().residual;
  } else {
    const analysis::nodes& both = *std::get<std::shared_ptr<const analysis::nodes>>(of.how);
    result["topology"] = "hierarchical";
    result["devices_per_node"] = both.devices_per_node;
    result["adapters"] = both.adapters;
    result["intra"] = network_json(both.intra);
    result["inter"] = network_json(both.inter);
  }
  return result;
}

[[nodiscard]] inline json::value buckets_json(const analysis::compute_step& of) {
  json::value list = json::value::array();
  for (const analysis::timed_bucket& bucket : of.buckets) {
    list.push_back({{"bytes", bucket.what.bytes}, {"layers", bucket.what.layers}});
  }
  return list;
}

[[nodiscard]] inline json::value scaled_step_json(const analysis::scaled_step& of) {
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

[[nodiscard]] inline json::value data_parallel_json(const analysis::data_parallel& of) {
  json::value steps = json::value::array();
  for (const analysis::scaled_step& step : of.steps) steps.push_back(scaled_step_json(step));
  return {{"network", network_json(of.how.joined)},
          {"scaling", name(of.how.scaling)},
          {"buckets", buckets_json(*of.computed.front())},
          {"steps", steps}};
}

}  // namespace detail

/// The predictions of single devices, each with its steps on many as `data_parallel`.
[[nodiscard]] inline json::value to_json(std::span<const analysis::data_parallel> all) {
  json::value list = json::value::array();
  for (const analysis::data_parallel& data_parallel : all) {
    list.push_back(detail::prediction_json(data_parallel.single));
    list.back()["data_parallel"] = detail::data_parallel_json(data_parallel);
  }
  return {{"schema", 1}, {"predictions", list}};
}

}  // namespace layerbench::report
