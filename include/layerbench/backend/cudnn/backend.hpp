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

#include <layerbench/backend/cublas/backend.hpp>
#include <layerbench/backend/cuda/kernels.hpp>
#include <layerbench/backend/cudnn/status.hpp>

/// cuDNN 9 on NVIDIA GPUs, with cuBLASLt for matrix products and layerbench kernels for ops that
/// neither library has.
namespace layerbench::cudnn {

class backend : public cublas::backend {
 public:
  static constexpr std::string_view name = "cudnn";
  static constexpr bool only_when_named = false;
  explicit backend(int threads)
      : cublas::backend(threads), handle_(cuda::make_handle<handle>("cudnnCreate", &cudnnCreate)) {
    cuda::check(cudnnSetStream(handle_.get(), stream()), "cudnnSetStream");
  }

  static std::optional<std::string> probe() noexcept {
    if (cudnnGetVersion() / 10000 != CUDNN_MAJOR) {
      return "the loaded cuDNN has another major version than the one compiled for";
    }
    return cublas::backend::probe();
  }

  static void describe(description& facts) {
    cublas::backend::describe(facts);
    facts["cudnn_version"] = cuda::library_version_text(cudnnGetVersion());
    facts["cudnn_compiled_version"] = cuda::library_version_text(CUDNN_VERSION);
  }

  [[nodiscard]] cudnnHandle_t library() const noexcept { return handle_.get(); }
  /// Copies memory; in a captured graph by a kernel, so both addresses must be on the device. In a
  /// model a kernel precedes each call, and the gap between a copy and a kernel may be longer than
  /// between two kernels.
  void copy(address to, const void* from, std::size_t bytes) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(stream(), &status), "cudaStreamIsCapturing");
    if (status == cudaStreamCaptureStatusNone) return cublas::backend::copy(to, from, bytes);
    copy_by_kernel(to, from, bytes);
  }
  template <class Work>
  [[nodiscard]] cuda::graph record(Work&& work) {
    copy_by_kernel(nullptr, nullptr, 0);  // loading the kernel cannot be captured
    return cublas::backend::record(std::forward<Work>(work));
  }

 private:
  void copy_by_kernel(address to, const void* from, std::size_t bytes) {
    const auto size = static_cast<std::int64_t>(bytes);
    if (!copy_kernel_) copy_kernel_ = kernels().find(dtype::f32, "copy");
    copy_kernel_->launch(stream(), cuda::grid_for(size / 16 + 1), from, to, size);
  }

  using handle = cuda::handle<cudnnHandle_t, &cudnnDestroy>;
  handle handle_;
  std::optional<cuda::kernel> copy_kernel_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::cudnn
