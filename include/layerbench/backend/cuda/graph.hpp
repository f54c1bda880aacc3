// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include <cuda_runtime_api.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/resources.hpp>

namespace layerbench::cuda {

/// Captures the work enqueued in a stream until end() or destruction.
class capture {
 public:
  /// Thread-local mode: calls of other threads neither join nor invalidate the capture.
  explicit capture(cudaStream_t target) : stream_(target) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  }
  capture(const capture&) = delete;
  capture& operator=(const capture&) = delete;
  ~capture() {
    if (!open_) return;
    cudaGraph_t unused = nullptr;
    if (cudaStreamEndCapture(stream_, &unused) == cudaSuccess) recorded_graph(unused).reset();
    static_cast<void>(cudaGetLastError());  // otherwise a later call reports this error again
  }

  /// Ends the capture and returns its graph. Throws api_error if a call could not be captured.
  [[nodiscard]] recorded_graph end() {
    cudaGraph_t raw = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &raw);
    open_ = false;  // a failed call ends the capture, too
    if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
    check(status, "cudaStreamEndCapture");
    return recorded_graph(raw);
  }

 private:
  cudaStream_t stream_;
  bool open_ = true;
};

/// An executable CUDA graph of the work of a stream.
class graph final : public run::recording {
 public:
  /// Captures what `work` enqueues in the stream, without running it. `work` must not allocate
  /// memory or wait for the stream. Throws the exceptions of `work`, and api_error if a call cannot
  /// be captured.
  template <std::invocable Work>
  graph(cudaStream_t target, Work&& work) : graph(target, captured(target, work)) {}
  /// Of work that was captured in the stream.
  graph(cudaStream_t target, const recorded_graph& work)
      : stream_(target),
        executable_(make_handle<executable_graph>(
            "cudaGraphInstantiateWithFlags", &cudaGraphInstantiateWithFlags, work.get(), 0ULL)) {
    check(cudaGraphUpload(executable_.get(), stream_), "cudaGraphUpload");
  }

  /// Enqueues one run of the graph.
  void launch() const override {
    check(cudaGraphLaunch(executable_.get(), stream_), "cudaGraphLaunch");
  }

 private:
  template <class Work>
  [[nodiscard]] static recorded_graph captured(cudaStream_t target, Work& work) {
    capture recording(target);
    work();
    return recording.end();
  }

  cudaStream_t stream_;
  executable_graph executable_;
};

}  // namespace layerbench::cuda
