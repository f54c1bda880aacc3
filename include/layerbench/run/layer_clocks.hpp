// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/clock.hpp>
#include <layerbench/run/interrupt.hpp>
#include <layerbench/run/sampler.hpp>
#include <layerbench/run/speed_probe.hpp>
#include <layerbench/run/step_sampler.hpp>
#include <layerbench/run/visit.hpp>

namespace layerbench::run {

namespace detail {

/// The wall clock alone: others are calls of the system, which short layers would feel.
class wall_watch {
 public:
  [[nodiscard]] const lap& cost() const { return cost_; }
  [[nodiscard]] static double now() { return run::now(clock::wall); }
  void start() { start_ = now(); }
  [[nodiscard]] lap stop() const { return {now() - start_, 0, 0}; }

 private:
  lap cost_{stopwatch(2).cost().wall, 0, 0};
  double start_ = 0;
};

}  // namespace detail

/// Wall clocks between the layers of a chain: which layers its time goes to. They run in steps of
/// their own, so that the chain's time is free of them.
class layer_clocks {
 public:
  /// Runs steps of `whole` as `how` says: a round.
  void visit(chain& whole, speed_probe& speed, const sampling& how) {
    step_sampler steps(whole, watch_, speed, &interrupt_guard::interrupted, step_parts::layers);
    std::vector<samples> layers = steps.sample_parts(how);
    if (layers.empty() || layers.front().seconds.empty()) return;
    rounds_.resize(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      std::ranges::sort(layers[i].seconds);
      const double mean = mean_without_stalls(layers[i].seconds).seconds;
      rounds_[i].at(!layers[i].unusual).push_back(mean);
    }
  }

  /// Seconds of a call of a primitive that `layers` share, as usual over the rounds; nothing
  /// before the first.
  [[nodiscard]] std::optional<double> seconds(const std::vector<std::size_t>& layers) const {
    if (rounds_.empty()) return std::nullopt;
    double sum = 0;
    for (const std::size_t each : layers) {
      const auto& [usual, slowed] = rounds_[each];
      sum += stats::usual(usual.empty() ? slowed : usual);
    }
    return sum / static_cast<double>(layers.size());
  }

 private:
  detail::wall_watch watch_;
  std::vector<by_speed<std::vector<double>>> rounds_;  ///< of each layer: its mean in each
};

}  // namespace layerbench::run
