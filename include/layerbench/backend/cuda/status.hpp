// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>

/// Shared by all backends on NVIDIA GPUs: errors, device, memory, streams and kernels.
namespace layerbench::cuda {

/// Interprets the status codes of a library; specialised for the status type of each: the library's
/// name, whether a status is success, whether it means that a shape or type is not supported, and
/// its text. It is a trait because argument-dependent lookup would not find overloads for these
/// types: they are in the global namespace.
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

/// Throws unless `status`, returned by `call`, is success: `unsupported` if the library does not
/// support the shape or type, otherwise api_error.
template <class Status>
void check(Status status, std::string_view call) {
  using traits = status_traits<Status>;
  if (traits::is_success(status)) return;
  if (traits::is_unsupported(status)) {
    throw unsupported(fmt::format("{}: {}: {}", traits::library, call, traits::text(status)));
  }
  throw api_error(traits::library, call, traits::text(status));
}

/// Waits for a stream. Returns the error with which all further calls fail; nothing if there is
/// none. Errors such as an illegal access end the context of the process.
[[nodiscard]] inline std::optional<std::string> lasting_error_after(cudaStream_t stream) {
  static_cast<void>(cudaGetLastError());  // forgets an error that does not last
  cudaError_t status = cudaStreamSynchronize(stream);
  if (status == cudaSuccess) status = cudaPeekAtLastError();
  if (status == cudaSuccess) return std::nullopt;
  return status_traits<cudaError_t>::text(status);
}

/// "9.19.0" for 91900, the version encoding of cuBLAS, cuDNN 9 and NCCL.
[[nodiscard]] inline std::string library_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace layerbench::cuda
