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
    constexpr int category = 1000;  // as CUDNN_STATUS_CATEGORY() of cudnn_graph.h
    return status / category == CUDNN_STATUS_NOT_SUPPORTED / category ||
           status ==
               CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;  // an engine may fail to compile
  }
  /// Name, number and, if cuDNN has one, the message of the last error.
  static std::string text(cudnnStatus_t status) {
    std::array<char, 1024> message{};
    cudnnGetLastErrorString(message.data(), message.size());
    const std::string_view detail(message.data());
    return fmt::format("{} ({}){}{}", cudnnGetErrorString(status), static_cast<int>(status),
                       detail.empty() ? "" : ": ", detail);
  }
};
