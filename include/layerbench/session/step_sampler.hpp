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

/// What a step is timed in.
enum class step_parts : std::uint8_t {
  stretches,  ///< of layers, as short as one looks at the processors' speed
  layers,
  whole  ///< from end to end, and nothing is left out
};

/// Samples whole steps of a chain. A long step is hardly ever undisturbed from end to end: it is
/// timed in stretches of layers, between which one looks at the processors' speed, and what was
/// disturbed is left out stretch by stretch, as it is of rows. Short steps are a single stretch.
template <class Chain, class Stopwatch, class Speed>
class step_sampler {
 public:
  step_sampler(Chain& whole, Stopwatch& watch, Speed& speed, bool (*stop)(),
               step_parts parts = step_parts::stretches)
      : whole_(whole), watch_(watch), look_(speed), stop_(stop), parts_(parts) {}

  /// As sample() does; goes on for a while where a stretch has not been seen undisturbed.
  [[nodiscard]] samples sample(const sampling& how) {
    take(how);
    return composed();
  }

  /// The same part by part: one samples each.
  [[nodiscard]] std::vector<samples> sample_parts(const sampling& how) {
    take(how);
    std::vector<samples> all;
    for (const stretch& stretche : stretches_) {
      all.emplace_back().calls_a_sample = 1;
      all.back().all_slowed = stretche.unusual();
      for (const lap& one : stretche.laps()) all.back().add(one);
    }
    return all;
  }

 private:
  struct stretch {
    std::size_t first;  ///< of its layers
    std::size_t end;    ///< behind the last
    by_speed<std::vector<lap>> taken = {};

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
      if ((some || timed > how.most_time) && complete()) break;
      if (steps >= 2 * how.least_samples && watch_.now() - start >= how.most_time) break;
      timed += step();
      ++steps;
    }
    judge();
  }

  /// Makes them in the last of the steps that warm up.
  void make_stretches() {
    for (std::size_t i = 1; i < whole_.steps_to_settle() && !stop_(); ++i) {
      whole_.set_up();
      whole_.run(0, whole_.layers());
    }
    whole_.set_up();
    double start = watch_.now();
    std::size_t first = 0;
    for (std::size_t i = 0; i < whole_.layers(); ++i) {
      whole_.run(i, i + 1);
      const bool goes_on = parts_ == step_parts::whole || (parts_ == step_parts::stretches &&
                                                           watch_.now() - start < Speed::interval);
      if (goes_on && i + 1 < whole_.layers()) continue;
      stretches_.push_back({first, i + 1});
      first = i + 1;
      start = watch_.now();
    }
  }

  /// Returns the seconds that were timed.
  double step() {
    double timed = 0;
    open();
    whole_.set_up();
    for (stretch& stretche : stretches_) {
      open();
      watch_.start();
      whole_.run(stretche.first, stretche.end);
      unjudged_.emplace_back(&stretche, watch_.stop().without(watch_.cost()));
      timed += unjudged_.back().second.seconds;
      if (watch_.now() - begun_ >= Speed::interval) judge();
    }
    return timed;
  }

  void open() {
    if (open_) return;
    look_.begin();
    begun_ = watch_.now();
    open_ = true;
  }

  void judge() {
    if (!open_) return;
    const bool at_usual_speed = look_.end();
    for (const auto& [in, item] : unjudged_) in->taken.at(at_usual_speed).push_back(item);
    unjudged_.clear();
    open_ = false;
  }

  [[nodiscard]] bool complete() const {
    return std::ranges::none_of(stretches_, &stretch::unusual);
  }

  /// As many samples as there are passages of the stretch that has fewest: each the sum over the
  /// stretches of the mean of as large a share of their passages.
  [[nodiscard]] samples composed() {
    samples result;
    result.calls_a_sample = 1;
    result.all_slowed = !complete();
    std::vector<std::vector<lap>> passages;
    std::size_t steps = SIZE_MAX;
    for (const stretch& stretche : stretches_) {
      result.slowed = std::max(result.slowed, stretche.taken.slowed.size());
      passages.push_back(parts_ == step_parts::whole
                             ? stretche.laps()
                             : without_stalls(stretche.laps(), result.stalls));
      steps = std::min(steps, passages.back().size());
    }
    for (std::size_t i = 0; i < steps; ++i) {
      lap all{};
      for (const std::vector<lap>& passage : passages) add_share(passage, i, steps, all);
      result.add(all);
    }
    return result;
  }

  /// Adds the mean of share `i` of `shares` equal ones of the laps: passages at its ends count in
  /// part.
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
    for (const lap& element : laps) sorted.push_back(element.seconds);
    std::ranges::sort(sorted);
    const double limit = stall_limit(sorted).seconds;
    const auto left_out =
        std::erase_if(laps, [&](const lap& item) { return item.seconds > limit; });
    stalls += static_cast<std::ptrdiff_t>(left_out);
    return laps;
  }

  Chain& whole_;
  Stopwatch& watch_;
  speed_monitor<Speed> look_;
  bool (*stop_)();
  step_parts parts_;
  std::vector<stretch> stretches_;
  std::vector<std::pair<stretch*, lap>> unjudged_;
  bool open_ = false;  ///< since begun_ nobody looked at the speed
  double begun_ = 0;
};

}  // namespace layerbench::run
