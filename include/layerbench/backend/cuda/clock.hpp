// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include <cuda_runtime_api.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/resources.hpp>

namespace layerbench::cuda {

/// Times the work of a stream by CUDA events. start() blocks the stream until stop(), so that the
/// GPU never waits for the host to enqueue the next call. As a library may itself wait for the
/// stream, it is blocked for 1 ms at most, or for twice as long as the work of last time took to
/// enqueue, but never for more than 50 ms.
class stream_clock final : public run::device_clock {
 public:
  explicit stream_clock(cudaStream_t timed) : stream_(timed) {}
  stream_clock(const stream_clock&) = delete;
  stream_clock& operator=(const stream_clock&) = delete;
  /// Unblocks the stream if an exception prevented stop().
  ~stream_clock() override {
    if (hold_.blocked.exchange(false)) static_cast<void>(cudaStreamSynchronize(stream_));
  }

  void start() override {
    hold_.blocked = true;
    check(cudaLaunchHostFunc(stream_, &spin, &hold_), "cudaLaunchHostFunc");
    check(cudaEventRecord(begin_.get(), stream_), "cudaEventRecord");
    // As in a model, the first call follows another kernel, so that its launch gap is timed too.
    // The time of this memset is part of the clock's overhead, which is subtracted.
    check(cudaMemsetAsync(predecessor_.data(), 0, predecessor_bytes, stream_), "cudaMemsetAsync");
    started_ = steady::now();
  }
  /// Waits for the work enqueued since start() and returns its seconds. Throws api_error if any of
  /// it failed.
  [[nodiscard]] double stop() override {
    check(cudaEventRecord(end_.get(), stream_), "cudaEventRecord");
    hold_.blocked = false;
    adapt_hold(steady::now() - started_);
    return seconds_between(begin_, end_);
  }

 private:
  using steady = std::chrono::steady_clock;
  static constexpr steady::duration least_hold = std::chrono::milliseconds(1);
  static constexpr steady::duration most_hold = std::chrono::milliseconds(50);

  /// If longer holds do not let the work be enqueued in time, something in it waits for the stream,
  /// and holds are short from then on.
  void adapt_hold(steady::duration enqueued) {
    constexpr int most_expiries = 4;
    if (enqueued < hold_.most.load()) {
      expiries_ = 0;
    } else if (++expiries_ > most_expiries) {
      waits_ = true;
    }
    hold_.most = waits_ ? least_hold : std::clamp(2 * enqueued, least_hold, most_hold);
  }

  struct hold {
    std::atomic<bool> blocked = false;
    std::atomic<steady::duration> most = least_hold;
  };
  /// Runs on a thread of the CUDA run time; the stream waits until it returns.
  static void CUDART_CB spin(void* held) {
    const hold& by = *static_cast<const hold*>(held);
    const auto deadline = steady::now() + by.most.load();
    while (by.blocked && steady::now() < deadline) {
    }
  }

  static constexpr std::size_t predecessor_bytes = 4;

  cudaStream_t stream_;
  hold hold_;
  steady::time_point started_;
  int expiries_ = 0;    ///< in a row
  bool waits_ = false;  ///< the work for the stream
  buffer predecessor_{predecessor_bytes};
  event begin_ = make_event();
  event end_ = make_event();
};

}  // namespace layerbench::cuda
