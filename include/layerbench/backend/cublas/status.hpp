// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <cublasLt.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/status.hpp>

template <>
struct layerbench::cuda::status_traits<cublasStatus_t> {
  static constexpr std::string_view library = "cuBLAS";
  static bool is_success(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }
  static bool is_unsupported(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED;
  }
  static std::string text(cublasStatus_t status) {
    return fmt::format("{} ({}): {}", cublasLtGetStatusName(status), static_cast<int>(status),
                       cublasLtGetStatusString(status));
  }
};
