// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

#include <cuda_runtime_api.h>

#include <layerbench/backend/cuda/handle.hpp>

namespace layerbench::cuda {

/// Times the work of a stream by CUDA events. start() blocks the stream until stop(), so that the
/// GPU never waits for the host to enqueue the next call. The stream is blocked for 1 ms at most,
/// because a library may itself wait for the stream.
class stream_clock {
 public:
  explicit stream_clock(cudaStream_t timed) : stream_(timed) {}
  stream_clock(const stream_clock&) = delete;
  stream_clock& operator=(const stream_clock&) = delete;
  /// Unblocks the stream if an exception prevented stop().
  ~stream_clock() {
    if (blocked_.exchange(false)) static_cast<void>(cudaStreamSynchronize(stream_));
  }

  void start() {
    blocked_ = true;
    check(cudaLaunchHostFunc(stream_, &spin, &blocked_), "cudaLaunchHostFunc");
    check(cudaEventRecord(begin_.get(), stream_), "cudaEventRecord");
    // As in a model, the first call follows another kernel, so that its launch gap is timed too.
    // The time of this memset is part of the clock's overhead, which is subtracted.
    check(cudaMemsetAsync(predecessor_.data(), 0, predecessor_bytes, stream_), "cudaMemsetAsync");
  }
  /// Waits for the work enqueued since start() and returns its seconds. Throws api_error if any of
  /// it failed.
  [[nodiscard]] double stop() {
    check(cudaEventRecord(end_.get(), stream_), "cudaEventRecord");
    blocked_ = false;
    check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  /// Runs on a thread of the CUDA run time; the stream waits until it returns.
  static void CUDART_CB spin(void* blocked) {
    using clock = std::chrono::steady_clock;
    const auto deadline = clock::now() + std::chrono::milliseconds(1);
    while (*static_cast<std::atomic<bool>*>(blocked) && clock::now() < deadline) {
    }
  }

  static constexpr std::size_t predecessor_bytes = 4;

  cudaStream_t stream_;
  std::atomic<bool> blocked_ = false;
  buffer predecessor_{predecessor_bytes};
  event begin_ = make_event();
  event end_ = make_event();
};

}  // namespace layerbench::cuda
