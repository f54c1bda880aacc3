// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <cudnn_graph.h>

#include <fmt/format.h>

#include <layerbench/backend/cublas/backend.hpp>
#include <layerbench/backend/cuda/kernels.hpp>
#include <layerbench/backend/cudnn/status.hpp>

/// cuDNN 9 on NVIDIA GPUs, with cuBLASLt for matrix products and kernels for what neither has.
namespace layerbench::cudnn {

/// "9.19.0" of 91900, as cuDNN 9 counts versions.
[[nodiscard]] inline std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

class backend : public cublas::backend {
 public:
  static constexpr std::string_view name = "cudnn";
  static constexpr bool few_ops = false;
  explicit backend(int threads)
      : cublas::backend(threads),
        handle_(cuda::make_handle<handle>("cudnnCreate", &cudnnCreate)),
        kernels_(device()) {
    cuda::check(cudnnSetStream(handle_.get(), stream()), "cudnnSetStream");
  }

  static std::optional<std::string> probe() noexcept {
    if (cudnnGetVersion() / 10000 != CUDNN_MAJOR) {
      return "the cuDNN loaded is of another major version than the one compiled for";
    }
    return cublas::backend::probe();
  }

  static void describe(description& facts) {
    cublas::backend::describe(facts);
    facts["cudnn_version"] = version_text(cudnnGetVersion());
    facts["cudnn_compiled_version"] = version_text(CUDNN_VERSION);
  }

  [[nodiscard]] cudnnHandle_t library() const noexcept { return handle_.get(); }
  /// Work that is recorded has its copies, of device memory, as kernels: what comes before a call
  /// in a model is one, and the way from a copy to a kernel may be longer.
  void copy(address to, const void* from, std::size_t bytes) {
    cudaStreamCaptureStatus recording = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(stream(), &recording), "cudaStreamIsCapturing");
    if (recording == cudaStreamCaptureStatusNone) return cublas::backend::copy(to, from, bytes);
    copy_by_kernel(to, from, bytes);
  }
  template <class Work>
  [[nodiscard]] cuda::graph record(Work&& work) {
    copy_by_kernel(nullptr, nullptr, 0);  // loads it, which cannot be recorded
    return cublas::backend::record(std::forward<Work>(work));
  }

  /// For what the library has no call.
  [[nodiscard]] cuda::kernels& kernels() noexcept { return kernels_; }

 private:
  void copy_by_kernel(address to, const void* from, std::size_t bytes) {
    const auto size = static_cast<std::int64_t>(bytes);
    if (!copies_) copies_ = kernels_.find(dtype::f32, "copy");
    copies_->launch(stream(), cuda::grid_for(size / 16 + 1), from, to, size);
  }

  using handle = cuda::handle<cudnnHandle_t, &cudnnDestroy>;
  handle handle_;
  cuda::kernels kernels_;
  std::optional<cuda::kernel> copies_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::cudnn
