// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <cudnn_graph.h>

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
  /// For what the library has no call.
  [[nodiscard]] cuda::kernels& kernels() noexcept { return kernels_; }

 private:
  using handle = cuda::handle<cudnnHandle_t, &cudnnDestroy>;
  handle handle_;
  cuda::kernels kernels_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::cudnn
