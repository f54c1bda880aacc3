// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

#include <cuda_runtime_api.h>

#include <layerbench/backend/cuda/handle.hpp>

namespace layerbench::cuda {

/// Times the work of a stream by events in it. Work that is enqueued between start() and stop()
/// waits for stop(), so that the GPU goes from one call to the next without waiting for this
/// program; but for a millisecond at most, since a library may wait for the stream itself.
class stream_clock {
 public:
  explicit stream_clock(cudaStream_t timed) : stream_(timed) {}
  stream_clock(const stream_clock&) = delete;
  stream_clock& operator=(const stream_clock&) = delete;
  /// The stream may still wait, where nobody came to stop().
  ~stream_clock() {
    if (held_.exchange(false)) static_cast<void>(cudaStreamSynchronize(stream_));
  }

  void start() {
    held_ = true;
    check(cudaLaunchHostFunc(stream_, &hold, &held_), "cudaLaunchHostFunc");
    check(cudaEventRecord(begin_.get(), stream_), "cudaEventRecord");
    // What the first call comes behind, as in a model: the way from one to the next counts. What
    // this takes itself is the clock's own cost.
    check(cudaMemsetAsync(mark_.data(), 0, mark_bytes, stream_), "cudaMemsetAsync");
  }
  /// Waits for all that was enqueued; the seconds that it took. Throws what went wrong in it.
  [[nodiscard]] double stop() {
    check(cudaEventRecord(end_.get(), stream_), "cudaEventRecord");
    held_ = false;
    check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  /// On a thread of the library's, while the stream waits for it.
  static void CUDART_CB hold(void* held) {
    using clock = std::chrono::steady_clock;
    const auto longest = clock::now() + std::chrono::milliseconds(1);
    while (*static_cast<std::atomic<bool>*>(held) && clock::now() < longest) {
    }
  }

  static constexpr std::size_t mark_bytes = 4;

  cudaStream_t stream_;
  std::atomic<bool> held_ = false;
  buffer mark_{mark_bytes};
  event begin_ = make_event();
  event end_ = make_event();
};

}  // namespace layerbench::cuda
