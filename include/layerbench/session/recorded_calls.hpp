// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// Calls of a row that a device replays as a graph: what they take each, free of what makes them
/// ready. What is sampled, and the stopwatch of it, for a visit of the row.
///
/// Each of n calls, on the first n windows of the ring, comes right behind what makes it ready, as
/// in a model. A second graph holds the latter alone: the difference of both times is that of the
/// calls, and of their way from one to the next, as in a replayed model. Without anything to make
/// ready the second graph is not needed.
///
/// Before each replay that is timed comes one of all, and then, in place of the windows that were
/// not recorded, memory that nobody else uses is written: as many bytes as calls on those would
/// touch, and what they would write ahead is. So each operand was last used one turn of the ring
/// ago, as always. What makes ready alone touches less by itself: half of what the calls would have
/// touched comes before it, which is right on average.
class recorded_calls {
 public:
  /// `calls`, `here` and `watch` must outlive this.
  recorded_calls(operand_ring& calls, compute_device& device, stopwatch& watch)
      : calls_(calls), device_(device), watch_(watch) {
    calls_.call_first();
  }

  /// Brings about that the next `n` calls find all in its state; untimed.
  void set_up(std::int64_t n) {
    if (n != recorded_) record(n);
    if (alone_) {
      launch(between_);
      if (half_ > 0) device_.fill(aside_->data(), half_, std::byte{});
      watch_.start();
      alone_->launch();
      set_up_ = watch_.stop().without(cost());
      all_->launch();
    }
    launch(between_);
    device_.synchronize();
  }
  /// Replays them, as many as were made ready.
  void call() { all_->launch(); }

  void start() { watch_.start(); }
  [[nodiscard]] lap stop() {
    const lap all = watch_.stop();
    all_seconds_ += all.seconds - cost().seconds;
    ready_seconds_ += set_up_.seconds;
    timed_calls_ += recorded_;
    // Some time, lest a difference that drowned in noise makes batches large.
    const double least = cost().seconds + 0.01 * all.seconds;
    return {std::max(all.seconds - set_up_.seconds, least), all.wall - set_up_.wall,
            all.cpu - set_up_.cpu};
  }
  [[nodiscard]] const lap& cost() const { return watch_.cost(); }
  [[nodiscard]] static double now() { return stopwatch::now(); }

  /// Adds what was subtracted. Where the calls are less than a twentieth of what was timed, noise
  /// of a few percent is much of them: such a row counts as disturbed. So does one whose difference
  /// is none at all; its samples are a hundredth of what was timed.
  void describe(result::measurement& row) const {
    constexpr double least_share = 0.05;
    if (!alone_ || row.calls == 0) return;
    row.counters["ready_s"] = ready_seconds_ / static_cast<double>(timed_calls_);
    if (all_seconds_ - ready_seconds_ < least_share * all_seconds_) row.counters["disturbed"] = 1;
  }

 private:
  static void launch(const std::unique_ptr<recording>& some) {
    if (some) some->launch();
  }

  void record(std::int64_t n) {
    const auto left_out = std::max<std::int64_t>(0, calls_.slots() - n);
    const std::size_t passed = static_cast<std::size_t>(left_out) * calls_.slot_bytes();
    half_ = half_of_calls(n);
    aside_ = passed + half_ == 0 ? nullptr : device_.allocate(passed + half_);
    recorded_ = 0;
    all_ = device_.record([&] {
      for (std::int64_t i = 0; i < n; ++i) {
        calls_.enqueue_set_up(i);
        calls_.enqueue(i);
      }
    });
    between_ = left_out == 0 ? nullptr : device_.record([&] {
      std::size_t first = half_;
      calls_.enqueue_ahead(left_out, n, [&](std::int64_t some) {
        const std::size_t bytes = static_cast<std::size_t>(some) * calls_.slot_bytes();
        device_.fill(static_cast<std::byte*>(aside_->data()) + first, bytes, std::byte{});
        first += bytes;
      });
    });
    if (calls_.touched_bytes() > 0) {
      alone_ = device_.record([&] {
        for (std::int64_t i = 0; i < n; ++i) calls_.enqueue_set_up(i);
      });
    }
    recorded_ = n;
    all_->launch();
  }

  /// Half of the bytes that so many calls touch by themselves. What makes them ready reads as much
  /// as it writes.
  [[nodiscard]] std::size_t half_of_calls(std::int64_t n) const {
    const std::size_t all = calls_.slot_bytes();
    const std::size_t set_up = std::min(all, 2 * calls_.touched_bytes());
    const std::int64_t windows = std::min(n, calls_.slots());
    return set_up == 0 ? 0 : static_cast<std::size_t>(windows) * (all - set_up) / 2;
  }

  operand_ring& calls_;
  compute_device& device_;
  stopwatch& watch_;
  std::unique_ptr<device_memory> aside_;
  std::unique_ptr<recording> all_;      ///< calls, each behind what makes it ready
  std::unique_ptr<recording> alone_;    ///< what makes them ready; null where nothing does
  std::unique_ptr<recording> between_;  ///< in place of the windows that were not recorded
  std::size_t half_ = 0;       ///< bytes that stand for calls where only these are made ready
  std::int64_t recorded_ = 0;  ///< calls in a replay
  lap set_up_{};               ///< of the last replay of what makes ready
  double all_seconds_ = 0;
  double ready_seconds_ = 0;
  std::int64_t timed_calls_ = 0;
};

}  // namespace layerbench::run
