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

/// The calls of a row, recorded and replayed as a graph of the device. sample() takes it both as
/// the work and as the stopwatch: the time of setup ops is already subtracted from its laps.
///
/// One graph has n calls on the first n slots of the ring, each behind its setup ops, as in a
/// model. A second graph has the setup ops alone, if there are any. The difference of both times is
/// that of the calls and of the gaps between them, as in a replayed model.
///
/// Before each timed replay the first graph is replayed untimed. Then scratch memory is filled in
/// place of the slots that were not recorded: as many bytes as calls on them would touch, and with
/// the writes ahead that they would do. So each operand was last used one turn of the ring ago, as
/// in other timing modes. Setup ops alone touch fewer bytes, so half of what the calls would have
/// touched is filled before them, which is right on average.
class device_graph_row {
 public:
  /// All arguments must outlive this.
  device_graph_row(operand_ring& calls, compute_device& device, stopwatch& watch)
      : calls_(calls), device_(device), watch_(watch) {
    calls_.call_first();
  }

  /// Brings the operands of the next `n` calls into their cache state, untimed.
  void set_up(std::int64_t n) {
    if (n != recorded_) record(n);
    if (setup_graph_) {
      launch(filler_graph_);
      if (half_bytes_ > 0) device_.fill(scratch_->data(), half_bytes_, std::byte{});
      watch_.start();
      setup_graph_->launch();
      setup_lap_ = watch_.stop().without(cost());
      call_graph_->launch();
    }
    launch(filler_graph_);
    device_.synchronize();
  }
  /// Replays `n` calls, whatever state their operands are in.
  void replay(std::int64_t n) {
    if (n != recorded_) record(n);
    call_graph_->launch();
  }
  /// Replays the calls that were set up.
  void call() { call_graph_->launch(); }

  void start() { watch_.start(); }
  [[nodiscard]] lap stop() {
    const lap all = watch_.stop();
    total_seconds_ += all.seconds - cost().seconds;
    setup_seconds_ += setup_lap_.seconds;
    timed_calls_ += recorded_;
    // At least a hundredth: a difference that drowned in noise must not make batches large.
    const double least = cost().seconds + 0.01 * all.seconds;
    return {std::max(all.seconds - setup_lap_.seconds, least), all.wall - setup_lap_.wall,
            all.cpu - setup_lap_.cpu};
  }
  [[nodiscard]] const lap& cost() const { return watch_.cost(); }
  [[nodiscard]] static double now() { return stopwatch::now(); }

  /// Adds the seconds of setup ops that were subtracted. A row counts as disturbed if its calls are
  /// less than a twentieth of what was timed: noise of a few percent is then too much of them. That
  /// includes rows whose difference was zero.
  void describe(result::measurement& row) const {
    constexpr double least_share = 0.05;
    if (!setup_graph_ || row.calls == 0) return;
    row.counters["ready_s"] = setup_seconds_ / static_cast<double>(timed_calls_);
    if (total_seconds_ - setup_seconds_ < least_share * total_seconds_)
      row.counters["disturbed"] = 1;
  }

 private:
  static void launch(const std::unique_ptr<recording>& graph) {
    if (graph) graph->launch();
  }

  void record(std::int64_t n) {
    const auto left_out = std::max<std::int64_t>(0, calls_.slots() - n);
    const std::size_t filled = static_cast<std::size_t>(left_out) * calls_.call_bytes();
    half_bytes_ = half_of_calls(n);
    scratch_ = filled + half_bytes_ == 0 ? nullptr : device_.allocate(filled + half_bytes_);
    recorded_ = 0;
    call_graph_ = device_.record([&] {
      for (std::int64_t i = 0; i < n; ++i) {
        calls_.enqueue_set_up(i);
        calls_.enqueue(i);
      }
    });
    filler_graph_ = left_out == 0 ? nullptr : device_.record([&] {
      std::size_t first = half_bytes_;
      calls_.enqueue_ahead(left_out, n, [&](std::int64_t passed) {
        const std::size_t bytes = static_cast<std::size_t>(passed) * calls_.call_bytes();
        device_.fill(static_cast<std::byte*>(scratch_->data()) + first, bytes, std::byte{});
        first += bytes;
      });
    });
    if (calls_.setup_bytes() > 0) {
      setup_graph_ = device_.record([&] {
        for (std::int64_t i = 0; i < n; ++i) calls_.enqueue_set_up(i);
      });
    }
    recorded_ = n;
    call_graph_->launch();
  }

  /// Half of the bytes that `n` calls touch, without those of their setup ops, which read about
  /// as much as they write.
  [[nodiscard]] std::size_t half_of_calls(std::int64_t n) const {
    const std::size_t all = calls_.call_bytes();
    const std::size_t set_up = std::min(all, 2 * calls_.setup_bytes());
    const std::int64_t slots = std::min(n, calls_.slots());
    return set_up == 0 ? 0 : static_cast<std::size_t>(slots) * (all - set_up) / 2;
  }

  operand_ring& calls_;
  compute_device& device_;
  stopwatch& watch_;
  std::unique_ptr<device_memory> scratch_;
  std::unique_ptr<recording> call_graph_;    ///< calls, each behind its setup ops
  std::unique_ptr<recording> setup_graph_;   ///< setup ops alone; null if there are none
  std::unique_ptr<recording> filler_graph_;  ///< in place of the slots that were not recorded
  std::size_t half_bytes_ = 0;               ///< filled in place of calls before the setup graph
  std::int64_t recorded_ = 0;                ///< calls in a replay
  lap setup_lap_{};                          ///< of the latest replay of the setup graph
  double total_seconds_ = 0;
  double setup_seconds_ = 0;
  std::int64_t timed_calls_ = 0;
};

}  // namespace layerbench::run
