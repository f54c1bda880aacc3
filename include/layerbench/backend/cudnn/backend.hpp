// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <cudnn_graph.h>

#include <layerbench/backend/cublas/backend.hpp>
#include <layerbench/backend/cudnn/status.hpp>

/// cuDNN 9 on NVIDIA GPUs, with cuBLASLt for matrix products and layerbench kernels for ops that
/// neither library has.
namespace layerbench::cudnn {

class backend : public cublas::backend {
 public:
  static constexpr std::string_view name = "cudnn";
  explicit backend(int threads)
      : cublas::backend(threads), handle_(cuda::make_handle<handle>("cudnnCreate", &cudnnCreate)) {
    cuda::check(cudnnSetStream(handle_.get(), stream()), "cudnnSetStream");
  }

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = cublas::backend::entry();
    own.probe = &probe;
    own.describe = &describe;
    own.only_when_named = false;
    return own;
  }

  static std::optional<std::string> probe() noexcept {
    if (cudnnGetVersion() / 10000 != CUDNN_MAJOR) {
      return "the loaded cuDNN has another major version than the one compiled for";
    }
    return cuda::unavailable_reason();
  }

  static void describe(description& facts) {
    cublas::backend::describe(facts);
    facts["cudnn_version"] = {cuda::library_version_text(cudnnGetVersion()),
                              field_dimension::version};
    facts["cudnn_compiled_version"] = {cuda::library_version_text(CUDNN_VERSION),
                                       field_dimension::version};
  }

  [[nodiscard]] cudnnHandle_t library() const noexcept { return handle_.get(); }

 private:
  using handle = cuda::handle<cudnnHandle_t, &cudnnDestroy>;
  handle handle_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::cudnn
