// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

/// Whether the processors have their usual speed now, by the time of a little work that is always
/// the same. What shares a core with a thread (work on its other hardware thread, of another
/// virtual machine for instance) or lowers its clock takes no time from it that the system could
/// count.
class frequency_probe {
 public:
  /// `work` returns the seconds that the work took now; `now` is a clock for limits.
  explicit frequency_probe(std::function<double()> work,
                           std::function<double()> now = stopwatch::now)
      : work_(std::move(work)), now_(std::move(now)), start_(now_()) {
    while (readings_.size() < first_readings) learn(work_());
  }

  /// Reads the speed once.
  [[nodiscard]] bool at_usual_speed() {
    const double seconds = work_();
    learn(seconds);
    return seconds <= slow * at_usual_speed_;
  }

  /// Waits for the usual speed, but no longer than is worth it: all in all no more than half of the
  /// time since this was made, and not at all once `hurry` was called. Returns whether it came.
  bool wait() {
    const double begin = now_();
    const double longest = hurried_ ? 0.0 : std::min(longest_wait, (begin - start_) / 2 - waited_);
    bool came = at_usual_speed();
    while (!came && now_() - begin < longest && !interrupt_guard::interrupted())
      came = at_usual_speed();
    waited_ += now_() - begin;
    return came;
  }

  /// Share of the time in which they were slower than usual, as far as one looked.
  [[nodiscard]] double slow_share() const {
    const auto late = std::ranges::count_if(
        readings_, [&](double value) { return value > slow * at_usual_speed_; });
    return static_cast<double>(late) / static_cast<double>(readings_.size());
  }

  /// From now on, or no longer, there is no time to wait.
  void set_over_budget(bool now) { hurried_ = now; }

  /// How often it should be asked while something is measured.
  static constexpr double interval = 0.002;  // seconds

 private:
  static constexpr std::size_t first_readings = 20;
  /// Undisturbed readings differ by 2 %; those beside a busy hardware thread of the same core are
  /// up to twice as long.
  static constexpr double slow = 1.08;
  static constexpr double longest_wait = 0.5;  // seconds

  /// Usual is the fastest speed that comes back again and again: for at least a twentieth of the
  /// time.
  void learn(double seconds) {
    constexpr double often = 0.05;
    if (now_() < next_reading_) return;  // waiting reads more often than measuring
    next_reading_ = now_() + interval;
    readings_.push_back(seconds);
    if (readings_.size() < readings_at_next_look_) return;
    readings_at_next_look_ = readings_.size() + readings_.size() / 16 + 1;
    std::ranges::sort(readings_);
    at_usual_speed_ = stats::quantile(readings_, often);
  }

  std::function<double()> work_;
  std::function<double()> now_;
  double start_;
  double waited_ = 0;
  bool hurried_ = false;
  std::vector<double> readings_;
  double next_reading_ = 0;
  std::size_t readings_at_next_look_ = first_readings;
  double at_usual_speed_ = std::numeric_limits<double>::infinity();
};

/// Keeps all integer units of this thread's core busy for so many turns, in registers alone, so
/// that whatever else the core does makes it last longer: twice as long beside a busy second
/// hardware thread.
inline void exercise_core(std::int64_t turns) {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  for (std::int64_t i = 0; i < turns; ++i) {
    a += 3;
    b ^= 5;
    c += 7;
    d ^= 9;
    e += 11;
    f ^= 13;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));  // one by one
  }
}

using probe_maker = std::function<std::unique_ptr<frequency_probe>(compute_device&)>;

/// A probe of the processors that `here` uses; one that finds every speed usual where they are not
/// this program's own.
[[nodiscard]] inline std::unique_ptr<frequency_probe> frequency_probe_of(compute_device& device) {
  if (!device.is_host()) return std::make_unique<frequency_probe>([] { return 1.0; });
  auto work = [&device, watch = stopwatch(device.threads())](std::int64_t turns) mutable {
    device.activate();
    // Wakes them, and outlasts the 10 us in which integer work after vector work is slower.
    device.on_all_threads([turns](int /*thread*/) { exercise_core(turns / 4); });
    watch.start();
    device.on_all_threads([turns](int /*thread*/) { exercise_core(turns); });
    return watch.stop().seconds;
  };
  constexpr double least_time = 50e-6;
  std::int64_t turns = 1024;
  while (work(turns) < least_time) turns *= 2;
  return std::make_unique<frequency_probe>(
      [work = std::move(work), turns]() mutable { return work(turns); });
}

}  // namespace layerbench::run
