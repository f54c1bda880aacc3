// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/compute_step.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/result/manifest.hpp>

namespace layerbench::analysis {

namespace detail {

using work_and_part = std::pair<std::string, model::step_part>;

/// Seconds of a call by its work and its part of the step. The position of inserted primitives is
/// unknown, so their time is spread over the calls of their part in proportion to the calls' times.
[[nodiscard]] inline std::map<work_and_part, double> call_times(const prediction& p) {
  std::array<double, 3> own{};
  std::array<double, 3> inserted{};
  std::map<work_and_part, double> times;
  for (const layer_time& layer : p.layers) {
    const double all = static_cast<double>(layer.count) * layer.seconds;
    (layer.inserted ? inserted : own).at(static_cast<std::size_t>(layer.part)) += all;
    if (layer.inserted) continue;
    times.emplace(
        work_and_part{fmt::format("{}/{}/{}", layer.op, layer.pass, layer.key), layer.part},
        layer.seconds);
  }
  for (auto& [what, seconds] : times) {
    const auto part = static_cast<std::size_t>(what.second);
    if (own.at(part) > 0) seconds *= 1 + inserted.at(part) / own.at(part);
  }
  return times;
}

[[nodiscard]] inline std::int64_t own_executions(const prediction& p) {
  std::int64_t count = 0;
  for (const layer_time& layer : p.layers) count += layer.inserted ? 0 : layer.count;
  return count;
}

/// Index of the call that completes a bucket: the last one that computes weight gradients of its
/// layers.
[[nodiscard]] inline std::size_t last_gradient(const model::step& step, const model::bucket& of) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    const model::call& call = step.calls[i];
    const bool has_gradients = op::is_backward(call.pass) && call.pass != op::pass::bwd_data;
    if (has_gradients && std::ranges::find(of.layers, call.layer) != of.layers.end()) last = i;
  }
  return last;
}

}  // namespace detail

LAYERBENCH_INLINE compute_step compute_step_of(const prediction& p, const model::graph& graph,
                                               const model::training& how, double layer_overhead) {
  const dtype type = dtype_from(p.model_case.dtype).value_or(dtype::f32);
  const model::step step = model::training_step(graph, type, {}, how);
  const std::map<detail::work_and_part, double> times = detail::call_times(p);
  compute_step result{.calls = {}, .buckets = {}, .whole = *p.step};
  std::vector<double> ends;  // from the start of the part
  const bool whole = detail::own_executions(p) == std::ssize(step.calls);
  for (const model::call& call : step.calls) {
    const auto found = times.find({model::work_of(call.op, call.pass), call.part});
    const std::string name = model::call_name(call.layer, op::name(call.pass));
    if (!whole || found == times.end()) {
      throw error(fmt::format(
          "{}: the shape file of {} is not of the model that was measured ({} calls instead of {}, "
          "or another {}); give that one with --model PATH",
          p.model_case.text(), graph.name, step.calls.size(), detail::own_executions(p), name));
    }
    const double seconds = found->second + layer_overhead;
    result.parts.at(static_cast<std::size_t>(call.part)) += seconds;
    result.calls.push_back({name, call.part, seconds});
    ends.push_back(result.seconds(call.part));
  }
  for (model::bucket& bucket : model::buckets_of(graph, type)) {
    const std::size_t last = detail::last_gradient(step, bucket);
    result.buckets.push_back({std::move(bucket), last, ends[last]});
  }
  result.overhead =
      std::max(0.0, p.step->overhead - layer_overhead * static_cast<double>(result.calls.size()));
  return result;
}

LAYERBENCH_INLINE prediction spread_throughput(const model::graph& graph, dtype type,
                                               double images_per_second) {
  prediction result;
  result.model_case = {
      "given", std::string(name(type)), graph.name, model::batch(graph), {{"phase", "training"}}};
  result.method = "given throughput, spread over the calls by their FLOPs";
  result.coverage = 1;
  const double seconds = static_cast<double>(result.model_case.batch) / images_per_second;
  result.step = step_time{seconds, 0, seconds, seconds, seconds, interval_method::none, {}};
  const std::vector<model::primitive> all =
      model::primitives_by_work(model::training_step(graph, type));
  const auto flops = [](const model::primitive& of) {
    return static_cast<double>(of.op.work(of.pass).flops);
  };
  double total = 0;
  for (const model::primitive& one : all) total += static_cast<double>(one.count()) * flops(one);
  for (const model::primitive& primitive : all) {
    const result::planned what = result::planned_of(primitive);
    const double call = seconds * flops(primitive) / total;
    result.layers.push_back({what.layer,
                             what.op,
                             what.pass,
                             what.key,
                             what.count,
                             false,
                             call,
                             static_cast<double>(what.count) * call / seconds,
                             flops(primitive),
                             {},
                             what.part,
                             call,
                             call});
  }
  return result;
}

}  // namespace layerbench::analysis
