// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/status.hpp>

namespace layerbench::cuda {

/// "13.0" for 13000, the version encoding of CUDA.
[[nodiscard]] inline std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// The newest CUDA version that the installed driver supports; 0 without a driver.
[[nodiscard]] inline int driver_version() noexcept {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

/// The version of the loaded CUDA run time; 0 if the query fails.
[[nodiscard]] inline int runtime_version() noexcept {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}

/// Number of GPUs; 0 where none can be used.
[[nodiscard]] inline int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());  // otherwise a later call reports this error again
  return 0;
}

/// Why no GPU can be used, with the status of the run time; nullopt if one can.
[[nodiscard]] inline std::optional<std::string> unavailable_reason() noexcept {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return std::nullopt;
  static_cast<void>(cudaGetLastError());  // otherwise a later call reports this error again
  if (status == cudaSuccess) return "cudaGetDeviceCount finds no GPU";
  std::string reason = "cudaGetDeviceCount: " + status_traits<cudaError_t>::text(status);
  if (status == cudaErrorInsufficientDriver) {  // also returned when there is no driver
    const int driver = driver_version();
    reason += driver == 0 ? "; no NVIDIA driver was found"
                          : fmt::format("; the NVIDIA driver runs CUDA up to {}, this is {}",
                                        version_text(driver), version_text(runtime_version()));
  }
  return reason;
}

/// Properties of a GPU that a result file records.
struct properties {
  std::string name;
  int compute_capability;  ///< such as 90 for 9.0
  int multiprocessors;
  std::size_t l2_bytes;
  std::size_t memory_bytes;
};

/// Such as "01234567-89ab-cdef-0123-456789abcdef".
[[nodiscard]] inline std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

/// Properties of GPU `number`. Throws api_error.
[[nodiscard]] inline properties properties_of(int number) {
  cudaDeviceProp all{};
  check(cudaGetDeviceProperties(&all, number), "cudaGetDeviceProperties");
  return {static_cast<const char*>(all.name), 10 * all.major + all.minor, all.multiProcessorCount,
          static_cast<std::size_t>(all.l2CacheSize), all.totalGlobalMem};
}

/// UUID of GPU `number`; that of the slice if the GPU is divided (MIG). Throws api_error.
[[nodiscard]] inline std::string uuid_of(int number) {
  cudaDeviceProp all{};
  check(cudaGetDeviceProperties(&all, number), "cudaGetDeviceProperties");
  return uuid_text(all.uuid);
}

/// PCI bus id of GPU `number`, such as "0000:3B:00.0". Throws api_error.
[[nodiscard]] inline std::string bus_id_of(int number) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), number),
        "cudaDeviceGetPCIBusId");
  return text.data();
}

/// Number of the current GPU of this thread. Throws unavailable without a GPU.
[[nodiscard]] inline int current_device() {
  int number = 0;
  const cudaError_t status = cudaGetDevice(&number);
  if (status == cudaSuccess) return number;
  throw unavailable("no GPU can be used here: cudaGetDevice: " +
                    status_traits<cudaError_t>::text(status));
}

}  // namespace layerbench::cuda
