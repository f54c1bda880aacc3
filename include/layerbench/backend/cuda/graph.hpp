// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <cuda_runtime_api.h>

#include <layerbench/backend/cuda/handle.hpp>

namespace layerbench::cuda {

/// A stream that records what is enqueued in it, until end() or its own end.
class capture {
 public:
  /// Calls of other threads are none of its business.
  explicit capture(cudaStream_t of) : stream_(of) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  }
  capture(const capture&) = delete;
  capture& operator=(const capture&) = delete;
  ~capture() {
    if (!open_) return;
    cudaGraph_t broken = nullptr;
    if (cudaStreamEndCapture(stream_, &broken) == cudaSuccess) recorded_graph(broken).reset();
    static_cast<void>(cudaGetLastError());  // else a later call reports it again
  }

  /// What was recorded. Throws where something in it could not be.
  [[nodiscard]] recorded_graph end() {
    cudaGraph_t raw = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &raw);
    open_ = false;  // whatever the status is
    if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
    check(status, "cudaStreamEndCapture");
    return recorded_graph(raw);
  }

 private:
  cudaStream_t stream_;
  bool open_ = true;
};

/// Work of a stream, recorded to be run again and again.
class graph {
 public:
  /// What `work` enqueues in the stream; nothing of it runs now. `work` may not allocate, nor wait
  /// for the stream. Throws what it does, and api_error where something cannot be recorded.
  template <class Work>
  graph(cudaStream_t in, Work&& work) : stream_(in) {
    capture recording(stream_);
    std::forward<Work>(work)();
    const recorded_graph result = recording.end();
    executable_ = make_handle<executable_graph>("cudaGraphInstantiateWithFlags",
                                                &cudaGraphInstantiateWithFlags, result.get(), 0ULL);
    check(cudaGraphUpload(executable_.get(), stream_), "cudaGraphUpload");
  }

  /// Enqueues all of it once.
  void launch() const { check(cudaGraphLaunch(executable_.get(), stream_), "cudaGraphLaunch"); }

 private:
  cudaStream_t stream_;
  executable_graph executable_;
};

}  // namespace layerbench::cuda
