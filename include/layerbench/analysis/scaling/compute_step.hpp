// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/model/buckets.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/shape/dtype.hpp>

/// The calls of one device in a training step, and the gradients that they make ready.
namespace layerbench::analysis {

/// A call of a step with its time.
struct timed_call {
  std::string name;
  model::step_part part;
  double seconds;
};

/// Gradients that are sent together.
struct timed_bucket {
  model::bucket what;
  std::size_t after;  ///< index of the call that completes the gradients
  double ready;       ///< seconds from the start of the backward part to the end of that call
};

/// The training step of a single device.
struct compute_step {
  std::vector<timed_call> calls;  ///< in the order in which they run
  std::array<double, 3> parts{};  ///< seconds of forward, backward, update
  std::vector<timed_bucket> buckets;
  double overhead = 0;  ///< framework's seconds per step, after everything else
  step_time whole;      ///< the step on a single device, as predicted

  [[nodiscard]] double seconds(model::step_part of) const {
    return parts.at(static_cast<std::size_t>(of));
  }
};

/// Puts the times of a complete prediction into the order of its model's training step. `how` is
/// the optimizer and `layer_overhead` the framework's seconds per layer. Throws error if the
/// prediction is of other work than the graph.
[[nodiscard]] compute_step compute_step_of(const prediction& p, const model::graph& graph,
                                           const model::training& how, double layer_overhead = 0);

/// A prediction from a throughput, for machines without timings of layers: the time of a step is
/// spread over its calls in proportion to their FLOPs. The backward part then takes about twice as
/// long as the forward part.
[[nodiscard]] prediction spread_throughput(const model::graph& graph, dtype type,
                                           double images_per_second);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/compute_step-inl.hpp>
#endif
