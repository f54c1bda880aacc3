// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <cublasLt.h>

#include <layerbench/backend/cublas/status.hpp>
#include <layerbench/backend/cuda/device_backend.hpp>

/// cuBLASLt, the part of cuBLAS whose user can choose the algorithm.
namespace layerbench::cublas {

class backend : public cuda::device_backend {
 public:
  static constexpr std::string_view name = "cublas";
  explicit backend(int threads)
      : cuda::device_backend(threads),
        handle_(cuda::make_handle<handle>("cublasLtCreate", &cublasLtCreate)) {}

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = cuda::device_backend::entry();
    own.describe = &describe;
    own.only_when_named = true;
    return own;
  }

  static void describe(description& facts) {
    cuda::device_backend::describe(facts);
    facts["cublas_version"] = {cuda::library_version_text(cublasLtGetVersion()),
                               field_dimension::version};
    facts["cublas_compiled_version"] = {cuda::library_version_text(CUBLAS_VERSION),
                                        field_dimension::version};
  }

  [[nodiscard]] cublasLtHandle_t library() const noexcept { return handle_.get(); }

 private:
  using handle = cuda::handle<cublasLtHandle_t, &cublasLtDestroy>;
  handle handle_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::cublas
