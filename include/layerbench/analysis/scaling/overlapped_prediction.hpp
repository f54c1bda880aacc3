// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/parallel_step.hpp>
#include <layerbench/op/allreduce.hpp>

/// Prediction of a step of several ranks that send gradients while they compute.
namespace layerbench::analysis {

namespace detail {

/// The prediction without its all-reduces, whose seconds are put into `sending`, by key.
[[nodiscard]] inline prediction without_sending(prediction p,
                                                std::map<std::string, double>& sending) {
  double seconds = 0;
  for (const layer_time& layer : p.layers) {
    if (layer.op != op::allreduce::name) continue;
    sending.emplace(layer.key, layer.seconds);
    seconds += static_cast<double>(layer.count) * layer.seconds;
  }
  std::erase_if(p.layers, [](const layer_time& layer) { return layer.op == op::allreduce::name; });
  p.step.value().seconds -= seconds;
  return p;
}

}  // namespace detail

/// The step of `sequential`, a complete prediction of several ranks, if they send gradients while
/// they compute. Throws what compute_step_of() throws.
[[nodiscard]] inline prediction overlapped(prediction sequential, const slowdown_interval& factors,
                                           const model::graph& graph, const model::training& how) {
  std::map<std::string, double> sending;
  const compute_step computed =
      compute_step_of(detail::without_sending(sequential, sending), graph, how);
  step_time& step = sequential.step.value();
  const auto seconds = [&](const slowdowns& slower, double bound) {
    const double factor = bound / step.seconds;
    const auto seconds_of = [&](double bytes) {
      const op::allreduce one{static_cast<std::int64_t>(bytes), sequential.model_case.ranks(),
                              true};
      return factor * sending.at(op::any(one).key());
    };
    return parallel_step_of(computed, seconds_of, slower, factor).seconds;
  };
  const auto& [usual, low, high] = at_least_one(factors);
  const double least = seconds(low, step.low());
  const double most = seconds(high, step.high());
  step.seconds = step.layers = seconds(usual, step.seconds);
  step.sampling_low = least;
  step.sampling_high = most;
  step.protocol_half_width = {};
  sequential.model_case = during_allreduces(sequential.model_case);
  sequential.method += ", all-reduces beside the backward part";
  for (layer_time& layer : sequential.layers) layer.chain_seconds = {};
  return sequential;
}

}  // namespace layerbench::analysis
