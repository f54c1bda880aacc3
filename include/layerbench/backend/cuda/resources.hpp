// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/status.hpp>

namespace layerbench::cuda {

template <auto Destroy>
struct destroyer {
  template <class Object>
  void operator()(Object* object) const noexcept {
    static_cast<void>(Destroy(object));  // a destructor cannot report a failure
  }
};

/// Owns a library handle, a pointer of type `Raw` that `Destroy` frees.
template <class Raw, auto Destroy>
using handle = std::unique_ptr<std::remove_pointer_t<Raw>, destroyer<Destroy>>;

/// Creates a handle by `create(&raw, arguments...)`; `call` is the function's name for errors.
/// Throws as check().
template <class Handle, class Create, class... Arguments>
[[nodiscard]] Handle make_handle(std::string_view call, Create create, Arguments... arguments) {
  typename Handle::pointer raw = nullptr;
  check(create(&raw, arguments...), call);
  return Handle(raw);
}

using stream = handle<cudaStream_t, &cudaStreamDestroy>;
using event = handle<cudaEvent_t, &cudaEventDestroy>;

using recorded_graph = handle<cudaGraph_t, &cudaGraphDestroy>;
using executable_graph = handle<cudaGraphExec_t, &cudaGraphExecDestroy>;

/// A non-blocking stream: it does not synchronize with the default stream.
[[nodiscard]] inline stream make_stream() {
  return make_handle<stream>("cudaStreamCreateWithFlags", &cudaStreamCreateWithFlags,
                             unsigned{cudaStreamNonBlocking});
}

/// An event that also takes the time, unless `flags` say otherwise.
[[nodiscard]] inline event make_event(unsigned flags = cudaEventDefault) {
  return make_handle<event>("cudaEventCreateWithFlags", &cudaEventCreateWithFlags, flags);
}

/// Waits for `end`. Returns the seconds that passed since `begin`. Throws api_error if any work of
/// the stream before `end` failed.
[[nodiscard]] inline double seconds_between(const event& begin, const event& end) {
  check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

/// Device memory; cudaMalloc aligns it to 256 bytes, enough for every type.
class buffer {
 public:
  buffer() = default;
  /// Throws api_error if the allocation fails.
  explicit buffer(std::size_t bytes) {
    if (bytes == 0) return;
    void* raw = nullptr;
    check(cudaMalloc(&raw, bytes), fmt::format("cudaMalloc of {} bytes", bytes));
    memory_.reset(raw);
  }
  [[nodiscard]] void* data() const noexcept { return memory_.get(); }

 private:
  handle<void*, &cudaFree> memory_;
};

}  // namespace layerbench::cuda
