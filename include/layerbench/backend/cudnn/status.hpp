// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <cudnn_graph.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/status.hpp>

template <>
struct layerbench::cuda::status_traits<cudnnStatus_t> {
  static constexpr std::string_view library = "cuDNN";
  static bool is_success(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }
  static bool is_unsupported(cudnnStatus_t status) {
    constexpr int kind = 1000;
    return status / kind == CUDNN_STATUS_NOT_SUPPORTED / kind ||
           status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;  // of a plan among others
  }
  /// With what the library says of its last failure, where it says more.
  static std::string text(cudnnStatus_t status) {
    std::array<char, 1024> more{};
    cudnnGetLastErrorString(more.data(), more.size());
    const std::string_view detail(more.data());
    return fmt::format("{} ({}){}{}", cudnnGetErrorString(status), static_cast<int>(status),
                       detail.empty() ? "" : ": ", detail);
  }
};
