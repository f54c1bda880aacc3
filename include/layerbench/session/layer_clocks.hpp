// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/step_sampler.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>
#include <layerbench/timing/measurement_pass.hpp>
#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

namespace detail {

/// The device's clock, or else the wall clock alone: reading CPU time takes a system call, which
/// would slow down short layers.
class wall_watch {
 public:
  explicit wall_watch(device_clock* device)
      : device_(device), cost_{stopwatch(clock::wall, device).cost().seconds, 0, 0} {}

  [[nodiscard]] const lap& cost() const { return cost_; }
  [[nodiscard]] static double now() { return run::now(clock::wall); }
  void start() {
    start_ = now();
    if (device_ != nullptr) device_->start();
  }
  [[nodiscard]] lap stop() const {
    return {device_ == nullptr ? now() - start_ : device_->stop(), 0, 0};
  }

 private:
  device_clock* device_;
  lap cost_;
  double start_ = 0;
};

}  // namespace detail

/// Clocks between the layers of a chain: they tell which layers its time goes to. They run in
/// separate steps, so that the chain's time does not include them.
class layer_clocks {
 public:
  /// Times the layers in steps of `model`: one round.
  void measure_pass(chain& model, frequency_probe& probe, const sampling& how) {
    if (!watch_) watch_.emplace(model.device().clock());
    step_sampler steps(model, *watch_, probe, &interrupt_guard::interrupted, step_parts::layers);
    std::vector<samples> layers = steps.sample_parts(how);
    if (layers.empty() || layers.front().seconds.empty()) return;
    rounds_.resize(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      std::ranges::sort(layers[i].seconds);
      const double mean = mean_without_stalls(layers[i].seconds).seconds;
      rounds_[i].at(!layers[i].all_slowed).push_back(mean);
    }
  }

  /// Seconds per call of a primitive that `layers` share: the usual value over the rounds; nothing
  /// before the first round.
  [[nodiscard]] std::optional<double> seconds(const std::vector<std::size_t>& layers) const {
    if (rounds_.empty()) return std::nullopt;
    double sum = 0;
    for (const std::size_t layer : layers) {
      const auto& [usual, slowed] = rounds_[layer];
      sum += stats::mean_without_outliers(usual.empty() ? slowed : usual);
    }
    return sum / static_cast<double>(layers.size());
  }

 private:
  std::optional<detail::wall_watch> watch_;
  std::vector<split_by_speed<std::vector<double>>> rounds_;  ///< of each layer: its means
};

}  // namespace layerbench::run
