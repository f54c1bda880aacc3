// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE frequency_probe::frequency_probe(std::function<double()> work,
                                                   std::function<double()> now)
    : work_(std::move(work)), now_(std::move(now)), start_(now_()) {
  while (readings_.size() < first_readings) learn(work_());
}

LAYERBENCH_INLINE bool frequency_probe::at_usual_speed() {
  const double seconds = work_();
  learn(seconds);
  return seconds <= slow * usual_seconds_;
}

LAYERBENCH_INLINE bool frequency_probe::wait() {
  const double begin = now_();
  const double longest =
      over_budget_ ? 0.0 : std::min(longest_wait, (begin - start_) / 2 - waited_);
  bool usual = at_usual_speed();
  while (!usual && now_() - begin < longest && !interrupt_guard::interrupted())
    usual = at_usual_speed();
  waited_ += now_() - begin;
  return usual;
}

LAYERBENCH_INLINE double frequency_probe::slow_share() const {
  const auto slower =
      std::ranges::count_if(readings_, [&](double value) { return value > slow * usual_seconds_; });
  return static_cast<double>(slower) / static_cast<double>(readings_.size());
}

LAYERBENCH_INLINE void frequency_probe::learn(double seconds) {
  constexpr double often = 0.05;
  if (now_() < next_reading_) return;  // wait() reads more often, which must not count more
  next_reading_ = now_() + interval;
  readings_.push_back(seconds);
  if (readings_.size() < next_sort_) return;
  next_sort_ = readings_.size() + readings_.size() / 16 + 1;
  std::ranges::sort(readings_);
  usual_seconds_ = stats::quantile(readings_, often);
}

LAYERBENCH_INLINE void exercise_core(std::int64_t iterations) {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  for (std::int64_t i = 0; i < iterations; ++i) {
    a += 3;
    b ^= 5;
    c += 7;
    d ^= 9;
    e += 11;
    f ^= 13;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));  // keeps each addition
  }
}

LAYERBENCH_INLINE std::unique_ptr<frequency_probe> any_speed(compute_device& /*device*/) {
  return std::make_unique<frequency_probe>([] { return 1.0; });
}

LAYERBENCH_INLINE std::unique_ptr<frequency_probe> frequency_probe_of(compute_device& device) {
  if (!device.is_host()) return any_speed(device);
  auto work = [&device,
               watch = stopwatch(clock_of(device.threads()))](std::int64_t iterations) mutable {
    device.activate();
    // Wakes the threads, and outlasts the 10 us in which integer work after vector work is slower.
    device.on_all_threads([iterations](int /*thread*/) { exercise_core(iterations / 4); });
    watch.start();
    device.on_all_threads([iterations](int /*thread*/) { exercise_core(iterations); });
    return watch.stop().seconds;
  };
  constexpr double least_time = 50e-6;
  std::int64_t iterations = 1024;
  while (work(iterations) < least_time) iterations *= 2;
  return std::make_unique<frequency_probe>(
      [work = std::move(work), iterations]() mutable { return work(iterations); });
}

}  // namespace layerbench::run
