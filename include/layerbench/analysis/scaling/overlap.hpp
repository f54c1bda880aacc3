// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/op/allreduce.hpp>

/// A step of ranks that send gradients while they compute, from their layers' timings.
namespace layerbench::analysis {

namespace detail {

/// The prediction without its all-reduces, whose seconds go to `sending`, by their keys.
[[nodiscard]] inline prediction computing_alone(prediction p,
                                                std::map<std::string, double>& sending) {
  double seconds = 0;
  for (const layer_time& layer : p.layers) {
    if (layer.op != op::allreduce::name) continue;
    sending.emplace(layer.key, layer.seconds);
    seconds += static_cast<double>(layer.count) * layer.seconds;
  }
  std::erase_if(p.layers, [](const auto& item) { return item.op == op::allreduce::name; });
  p.step.value().seconds -= seconds;
  return p;
}

}  // namespace detail

/// The step of `one_by_one`, a prediction of several ranks that has all layers, when they send
/// gradients while they compute. Throws as compute_step_of().
[[nodiscard]] inline prediction overlapped(prediction one_by_one, const sure_slowdowns& factors,
                                           const model::graph& graph, const model::training& how) {
  std::map<std::string, double> sending;
  const compute_step computed =
      compute_step_of(detail::computing_alone(one_by_one, sending), graph, how);
  step_time& step = one_by_one.step.value();
  const auto seconds = [&](const slowdowns& slower, double bound) {
    const double speed = bound / step.seconds;
    const auto seconds_of = [&](double bytes) {
      const op::allreduce one{static_cast<std::int64_t>(bytes), one_by_one.configuration.ranks(),
                              true};
      return speed * sending.at(op::any(one).key());
    };
    return parallel_step_of(computed, seconds_of, slower, speed).seconds;
  };
  const auto& [usual, low, high] = slowing(factors);
  const double least = seconds(low, step.low());
  const double most = seconds(high, step.high());
  step.seconds = step.layers = seconds(usual, step.seconds);
  step.sampling_low = least;
  step.sampling_high = most;
  step.protocol_half_width = {};
  one_by_one.configuration = during_allreduces(one_by_one.configuration);
  one_by_one.method += ", all-reduces beside the backward part";
  for (layer_time& layer : one_by_one.layers) layer.chain_seconds = {};
  return one_by_one;
}

}  // namespace layerbench::analysis
