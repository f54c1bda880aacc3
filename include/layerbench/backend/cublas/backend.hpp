// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <cublasLt.h>

#include <fmt/format.h>

#include <layerbench/backend/cublas/status.hpp>
#include <layerbench/backend/cuda/backend.hpp>

/// cuBLASLt, the part of cuBLAS that leaves the choice of an algorithm to its user.
namespace layerbench::cublas {

/// "13.1.0" of 130100, as cuBLAS counts versions.
[[nodiscard]] inline std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

class backend : public cuda::backend {
 public:
  static constexpr std::string_view name = "cublas";
  static constexpr bool few_ops = true;
  explicit backend(int threads)
      : cuda::backend(threads),
        handle_(cuda::make_handle<handle>("cublasLtCreate", &cublasLtCreate)) {}

  static void describe(description& facts) {
    cuda::backend::describe(facts);
    facts["cublas_version"] = version_text(cublasLtGetVersion());
    facts["cublas_compiled_version"] = version_text(CUBLAS_VERSION);
  }

  [[nodiscard]] cublasLtHandle_t library() const noexcept { return handle_.get(); }

 private:
  using handle = cuda::handle<cublasLtHandle_t, &cublasLtDestroy>;
  handle handle_;
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::cublas
