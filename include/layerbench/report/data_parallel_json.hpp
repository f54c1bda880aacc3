// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include <layerbench/predict/scaling.hpp>
#include <layerbench/report/prediction_json.hpp>

/// Training on many devices for programs: the contract of docs/formats.md.
namespace layerbench::report {

namespace detail {

[[nodiscard]] inline json::value link_json(const predict::link& of) {
  return {{"topology", name(of.topology)}, {"alpha", of.alpha}, {"beta", of.beta}};
}

[[nodiscard]] inline json::value network_json(const predict::network& of) {
  json::value made{{"name", of.name}, {"title", of.title}, {"source", of.source}};
  if (of.most) made["devices"] = *of.most;
  if (const auto* described = std::get_if<predict::link>(&of.how)) {
    made.update(link_json(*described));
  } else if (const auto* table = std::get_if<predict::collective_table>(&of.how)) {
    made["measured"] = table->devices();
    made["fitted"] = link_json(table->model().link);
    made["fitted"]["residual"] = table->model().residual;
  } else {
    const predict::nodes& both = *std::get<std::shared_ptr<const predict::nodes>>(of.how);
    made["topology"] = "hierarchical";
    made["devices_per_node"] = both.devices_per_node;
    made["adapters"] = both.adapters;
    made["intra"] = network_json(both.intra);
    made["inter"] = network_json(both.inter);
  }
  return made;
}

[[nodiscard]] inline json::value buckets_json(const predict::compute_step& of) {
  json::value list = json::value::array();
  for (const predict::timed_bucket& each : of.buckets) {
    list.push_back({{"bytes", each.what.bytes}, {"layers", each.what.layers}});
  }
  return list;
}

[[nodiscard]] inline json::value scaled_step_json(const predict::scaled_step& of) {
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

[[nodiscard]] inline json::value data_parallel_json(const predict::data_parallel& of) {
  json::value steps = json::value::array();
  for (const predict::scaled_step& each : of.steps) steps.push_back(scaled_step_json(each));
  return {{"network", network_json(of.how.joined)},
          {"scaling", name(of.how.scaling)},
          {"buckets", buckets_json(*of.computed.front())},
          {"steps", steps}};
}

}  // namespace detail

/// The predictions of single devices, each with its steps on many as `data_parallel`.
[[nodiscard]] inline json::value to_json(std::span<const predict::data_parallel> all) {
  json::value list = json::value::array();
  for (const predict::data_parallel& each : all) {
    list.push_back(detail::prediction_json(each.single));
    list.back()["data_parallel"] = detail::data_parallel_json(each);
  }
  return {{"schema", 1}, {"predictions", list}};
}

}  // namespace layerbench::report
