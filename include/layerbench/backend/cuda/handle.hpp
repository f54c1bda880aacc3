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
    static_cast<void>(Destroy(object));  // nothing to be done about a failure
  }
};

/// Owns what a library calls a handle: a pointer `Raw` that `Destroy` is called with, once.
template <class Raw, auto Destroy>
using handle = std::unique_ptr<std::remove_pointer_t<Raw>, destroyer<Destroy>>;

/// The handle that `create(&raw, arguments...)` makes; `call` is the function's name. Throws as
/// check does.
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

/// A stream that does not wait for the default one.
[[nodiscard]] inline stream make_stream() {
  return make_handle<stream>("cudaStreamCreateWithFlags", &cudaStreamCreateWithFlags,
                             unsigned{cudaStreamNonBlocking});
}

/// An event that keeps the time at which it was reached.
[[nodiscard]] inline event make_event() {
  return make_handle<event>("cudaEventCreateWithFlags", &cudaEventCreateWithFlags,
                            unsigned{cudaEventDefault});
}

/// Device memory, aligned for every type and library.
class buffer {
 public:
  buffer() = default;
  /// Throws an error where that much is not free.
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
