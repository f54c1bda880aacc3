// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/clock.hpp>
#include <layerbench/run/visit.hpp>

namespace layerbench::run {

/// Wall clocks between the layers of a chain: which layers its time goes to. They run in steps of
/// their own, so that the chain's time is free of them.
class layer_clocks {
 public:
  /// Runs steps of `whole` for at least so many seconds: a round.
  void visit(chain& whole, double least_time) {
    std::vector<std::vector<double>> samples(whole.layers());
    const double start = now(clock::wall);
    bool warm = false;  // the first step warms up
    do {
      whole.ready();
      double before = now(clock::wall);
      whole.call_layers([&](std::size_t layer) {
        const double after = now(clock::wall);
        if (warm) samples[layer].push_back(after - before);
        before = now(clock::wall);
      });
    } while (!std::exchange(warm, true) || now(clock::wall) - start < least_time);
    rounds_.resize(whole.layers());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::ranges::sort(samples[i]);
      rounds_[i].push_back(mean_without_stalls(samples[i]).seconds - cost_);
    }
  }

  /// Seconds of a call of a primitive that `layers` share, the median over the rounds; nothing
  /// before the first.
  [[nodiscard]] std::optional<double> seconds(const std::vector<std::size_t>& layers) const {
    if (rounds_.empty()) return std::nullopt;
    double sum = 0;
    for (const std::size_t each : layers) sum += stats::median(rounds_[each]);
    return sum / static_cast<double>(layers.size());
  }

 private:
  double cost_ = stopwatch(2).cost().wall;   ///< of a reading; two threads are timed by this clock
  std::vector<std::vector<double>> rounds_;  ///< of each layer: its mean in each
};

}  // namespace layerbench::run
