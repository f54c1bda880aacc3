// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>

/// What all backends on NVIDIA GPUs share: the device, its memory, its streams.
namespace layerbench::cuda {

/// How a library's statuses read; specialised for the status type of each library: its name,
/// whether a status is success, whether it says that there is nothing for this shape and type, and
/// its text. A trait, and not overloads: these types are of the global namespace, where a template
/// that is defined before does not find them.
template <class Status>
struct status_traits;

template <>
struct status_traits<cudaError_t> {
  static constexpr std::string_view library = "CUDA";
  static bool is_success(cudaError_t status) { return status == cudaSuccess; }
  static bool is_unsupported(cudaError_t /*status*/) { return false; }
  static std::string text(cudaError_t status) {
    return fmt::format("{} ({}): {}", cudaGetErrorName(status), static_cast<int>(status),
                       cudaGetErrorString(status));
  }
};

/// Throws unless `status`, which `call` returned, is success: `unsupported` where the library has
/// nothing for the shape or type, else api_error.
template <class Status>
void check(Status status, std::string_view call) {
  using traits = status_traits<Status>;
  if (traits::is_success(status)) return;
  if (traits::is_unsupported(status)) {
    throw unsupported(fmt::format("{}: {}: {}", traits::library, call, traits::text(status)));
  }
  throw api_error(traits::library, call, traits::text(status));
}

}  // namespace layerbench::cuda
