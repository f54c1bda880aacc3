// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <layerbench/timing/sampler.hpp>

namespace layerbench::run {

/// The parts in which a step is timed.
enum class step_parts : std::uint8_t {
  stretches,  ///< of layers, each about as long as the interval of the frequency probe
  layers,     ///< one by one
  whole       ///< from end to end, stalls included
};

/// Samples steps of a chain. A long step is hardly ever undisturbed from end to end, so it is timed
/// in stretches of layers. The processors' speed is probed between them, and disturbed stretches
/// are left out, as samples of rows are. A short step is a single stretch.
template <class Chain, class Stopwatch, class Speed>
class step_sampler {
 public:
  step_sampler(Chain& chain, Stopwatch& watch, Speed& speed, bool (*stop)(),
               step_parts parts = step_parts::stretches)
      : chain_(chain), watch_(watch), look_(speed), stop_(stop), parts_(parts) {}

  /// Samples whole steps, as sample() does calls. Continues for a while if every passage of some
  /// stretch was disturbed.
  [[nodiscard]] samples sample(const sampling& how) {
    take(how);
    return composed_steps();
  }

  /// Samples the parts of steps; returns the samples of each.
  [[nodiscard]] std::vector<samples> sample_parts(const sampling& how) {
    take(how);
    std::vector<samples> all;
    for (const stretch& part : stretches_) {
      all.emplace_back().calls_per_sample = 1;
      all.back().all_slowed = part.unusual();
      for (const lap& passage : part.laps()) all.back().add(passage);
    }
    return all;
  }

 private:
  struct stretch {
    std::size_t first;  ///< layer
    std::size_t end;    ///< one past the last layer
    split_by_speed<std::vector<lap>> taken = {};

    /// Whether the speed was below the usual one in all passages.
    [[nodiscard]] bool unusual() const { return taken.at_usual_speed.empty(); }
    [[nodiscard]] const std::vector<lap>& laps() const {
      return unusual() ? taken.slowed : taken.at_usual_speed;
    }
  };

  void take(const sampling& how) {
    make_stretches();
    const double start = watch_.now();
    double timed = 0;
    for (std::size_t steps = 0; !stop_();) {
      const bool some = steps >= how.least_samples && timed >= how.least_time;
      const bool suffices = complete() || how.most_calls == 1;
      if ((some || timed > how.most_time) && suffices) break;
      if (steps >= 2 * how.least_samples && watch_.now() - start >= how.most_time) break;
      timed += step();
      ++steps;
    }
    end_probing();
  }

  /// Runs the steps that warm up the caches; divides the last of them into stretches.
  void make_stretches() {
    for (std::size_t i = 1; i < chain_.warm_up_steps() && !stop_(); ++i) {
      chain_.set_up();
      chain_.run(0, chain_.layers());
    }
    chain_.set_up();
    double start = watch_.now();
    std::size_t first = 0;
    for (std::size_t i = 0; i < chain_.layers(); ++i) {
      chain_.run(i, i + 1);
      const bool extends = parts_ == step_parts::whole || (parts_ == step_parts::stretches &&
                                                           watch_.now() - start < Speed::interval);
      if (extends && i + 1 < chain_.layers()) continue;
      stretches_.push_back({first, i + 1});
      first = i + 1;
      start = watch_.now();
    }
  }

  /// Times one step; returns its seconds.
  double step() {
    double timed = 0;
    begin_probing();
    chain_.set_up();
    for (stretch& part : stretches_) {
      begin_probing();
      watch_.start();
      chain_.run(part.first, part.end);
      pending_.emplace_back(&part, watch_.stop().without(watch_.cost()));
      timed += pending_.back().second.seconds;
      if (watch_.now() - begun_ >= Speed::interval) end_probing();
    }
    return timed;
  }

  /// Probes the speed, unless laps are pending.
  void begin_probing() {
    if (probing_) return;
    look_.begin();
    begun_ = watch_.now();
    probing_ = true;
  }

  /// Probes the speed again, and sorts the pending laps by the result.
  void end_probing() {
    if (!probing_) return;
    const bool at_usual_speed = look_.end();
    for (const auto& [part, passage] : pending_) {
      part->taken.at(at_usual_speed).push_back(passage);
    }
    pending_.clear();
    probing_ = false;
  }

  [[nodiscard]] bool complete() const {
    return std::ranges::none_of(stretches_, &stretch::unusual);
  }

  /// Composes samples of whole steps from the passages of stretches. There are as many samples as
  /// the rarest stretch has passages. Each sample sums, over the stretches, the mean of an equal
  /// share of their passages.
  [[nodiscard]] samples composed_steps() {
    samples result;
    result.calls_per_sample = 1;
    result.all_slowed = !complete();
    std::vector<std::vector<lap>> passages;
    std::size_t steps = SIZE_MAX;
    for (const stretch& part : stretches_) {
      result.slowed = std::max(result.slowed, part.taken.slowed.size());
      passages.push_back(parts_ == step_parts::whole ? part.laps()
                                                     : without_stalls(part.laps(), result.stalls));
      steps = std::min(steps, passages.back().size());
    }
    for (std::size_t i = 0; i < steps; ++i) {
      lap step{};
      for (const std::vector<lap>& laps : passages) add_share(laps, i, steps, step);
      result.add(step);
    }
    return result;
  }

  /// Adds the mean of share `i` of `shares` equal shares of the laps. A lap on the border of two
  /// shares counts in part.
  static void add_share(const std::vector<lap>& laps, std::size_t i, std::size_t shares, lap& to) {
    const auto size = static_cast<double>(laps.size()) / static_cast<double>(shares);
    const double first = static_cast<double>(i) * size;
    for (auto j = static_cast<std::size_t>(first); j < laps.size(); ++j) {
      const auto at = static_cast<double>(j);
      const double weight = std::min(at + 1, first + size) - std::max(at, first);
      if (weight <= 0) break;
      to.seconds += weight / size * laps[j].seconds;
      to.wall += weight / size * laps[j].wall;
      to.cpu += weight / size * laps[j].cpu;
    }
  }

  [[nodiscard]] static std::vector<lap> without_stalls(std::vector<lap> laps,
                                                       std::ptrdiff_t& stalls) {
    if (laps.empty()) return laps;
    std::vector<double> sorted;
    for (const lap& passage : laps) sorted.push_back(passage.seconds);
    std::ranges::sort(sorted);
    const double limit = stall_limit(sorted).seconds;
    const auto left_out =
        std::erase_if(laps, [&](const lap& passage) { return passage.seconds > limit; });
    stalls += static_cast<std::ptrdiff_t>(left_out);
    return laps;
  }

  Chain& chain_;
  Stopwatch& watch_;
  speed_monitor<Speed> look_;
  bool (*stop_)();
  step_parts parts_;
  std::vector<stretch> stretches_;
  std::vector<std::pair<stretch*, lap>> pending_;
  bool probing_ = false;  ///< the speed was probed at begun_ and not since
  double begun_ = 0;
};

}  // namespace layerbench::run
