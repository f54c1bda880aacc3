// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <layerbench/backend/cuda/resources.hpp>
#include <layerbench/backend/nccl/backend.hpp>
#include <layerbench/backend/nccl/calls.hpp>

namespace layerbench::nccl {

/// All-reduces of a rank that computes on its GPU: in the stream that computes, or overlapped with
/// it, in a stream for communication.
class allreducer {
 public:
  /// The current device is the GPU of the communicator. Throws api_error.
  explicit allreducer(communicator of_rank)
      : communicator_(std::move(of_rank)), device_(cuda::current_device()) {}

  /// Enqueues one. Throws api_error, and unsupported for types that NCCL does not add up.
  void enqueue(const op::collective& o, dtype type, const void* from, void* to,
               cudaStream_t stream) const {
    cuda::check(ncclAllReduce(from, to, static_cast<std::size_t>(o.block(type)), type_of(o, type),
                              ncclSum, communicator_.get(), stream),
                "ncclAllReduce");
  }
  /// Enqueues one that begins after what is in `compute` now, and overlaps with what follows there.
  void enqueue_overlapped(const op::collective& o, dtype type, const void* from, void* to,
                          cudaStream_t compute) const {
    wait(communication(), compute);
    enqueue(o, type, from, to, communication());
  }
  /// What follows in `compute` begins after all overlapped calls so far.
  void join(cudaStream_t compute) const { wait(compute, communication()); }

  /// Makes the GPU the current device of this thread.
  void activate() const { cuda::check(cudaSetDevice(device_), "cudaSetDevice"); }
  /// The stream for communication.
  [[nodiscard]] cudaStream_t communication() const { return communication_.get(); }
  /// Waits for that stream. Returns the error with which all further calls fail; nothing if the GPU
  /// can be used.
  [[nodiscard]] std::optional<std::string> lasting_error() const {
    return cuda::lasting_error_after(communication());
  }

 private:
  /// What follows in stream `later` begins after what is in `earlier` now.
  void wait(cudaStream_t later, cudaStream_t earlier) const {
    cuda::check(cudaEventRecord(order_.get(), earlier), "cudaEventRecord");
    cuda::check(cudaStreamWaitEvent(later, order_.get(), 0), "cudaStreamWaitEvent");
  }

  communicator communicator_;
  int device_;
  cuda::stream communication_ = cuda::make_stream();
  cuda::event order_ = cuda::make_event(cudaEventDisableTiming);
};

/// All-reduces of one array in the stream for communication, one behind the other, each timed.
class repeated_allreduce {
 public:
  /// Throws api_error.
  repeated_allreduce(const allreducer& by, const op::collective& o, dtype type)
      : allreducer_(by),
        collective_(o),
        type_(type),
        array_(static_cast<std::size_t>(o.block(type)) * traits(type).bytes) {}

  /// Enqueues another one, so that the GPU never waits for the host, and waits for the one before
  /// it. Returns the seconds of that one.
  double next() {
    allreducer_.activate();
    if (enqueued_ == ended_) enqueue();
    enqueue();
    return end_oldest();
  }
  /// Waits for all.
  void finish() {
    while (ended_ < enqueued_) static_cast<void>(end_oldest());
  }

 private:
  struct timed_call {
    cuda::event begin = cuda::make_event();
    cuda::event end = cuda::make_event();
  };

  void enqueue() {
    cudaStream_t stream = allreducer_.communication();
    const timed_call& call = calls_[enqueued_++ % calls_.size()];
    cuda::check(cudaEventRecord(call.begin.get(), stream), "cudaEventRecord");
    allreducer_.enqueue(collective_, type_, array_.data(), array_.data(), stream);
    cuda::check(cudaEventRecord(call.end.get(), stream), "cudaEventRecord");
  }
  double end_oldest() {
    const timed_call& call = calls_[ended_++ % calls_.size()];
    return cuda::seconds_between(call.begin, call.end);
  }

  const allreducer& allreducer_;
  op::collective collective_;
  dtype type_;
  cuda::buffer array_;
  std::array<timed_call, 2> calls_;
  std::size_t enqueued_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace layerbench::nccl
