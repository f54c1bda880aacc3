// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/status.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/shape/dtype.hpp>

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

/// FLOPs per clock of a multiprocessor of compute capability `capability` (90 for 9.0), dense, with
/// sums in single precision or 32-bit integers; 0 if they are not known. Those of f32 are of CUDA
/// cores, all others of tensor cores. From NVIDIA's architecture white papers and data sheets of
/// V100, T4, A100, A40, L40S, H100, B200 and RTX PRO 6000. GeForce cards run tensor cores at half
/// rate with sums in single precision.
[[nodiscard]] inline int flops_per_clock(int capability, dtype type, bool is_geforce = false) {
  struct rates {
    int capability, f32, tf32, half, bytes;  ///< f16 and bf16; s8
    bool has_f8;
  };
  static constexpr std::array all{
      rates{70, 128, 0, 1024, 0, false},        rates{75, 128, 0, 1024, 2048, false},
      rates{80, 128, 1024, 2048, 4096, false},  rates{86, 256, 512, 1024, 2048, false},
      rates{89, 256, 512, 1024, 2048, true},    rates{90, 256, 2048, 4096, 8192, true},
      rates{100, 256, 4096, 8192, 16384, true}, rates{120, 256, 512, 1024, 2048, true},
  };
  const int divisor = is_geforce ? 2 : 1;
  for (const rates& of : all) {
    if (of.capability != capability) continue;
    switch (type) {
      case dtype::f32: return of.f32;
      case dtype::tf32: return of.tf32 / divisor;
      case dtype::f16: return of.half / divisor;
      case dtype::bf16: return capability < 80 ? 0 : of.half / divisor;
      case dtype::s8:
      case dtype::u8: return of.bytes;
      case dtype::f8_e4m3: return of.has_f8 ? of.bytes / divisor : 0;
      case dtype::f64:
      case dtype::s4:
      case dtype::u4: return 0;
    }
  }
  return 0;
}

/// What GPU `number` can do at most at its highest clocks. Of a slice (MIG) the bandwidth is not
/// known. Throws api_error.
class peaks {
 public:
  explicit peaks(int number, bool is_slice = false) {
    cudaDeviceProp all{};
    check(cudaGetDeviceProperties(&all, number), "cudaGetDeviceProperties");
    capability_ = 10 * all.major + all.minor;
    is_geforce_ = std::string_view(static_cast<const char*>(all.name)).find("GeForce") !=
                  std::string_view::npos;
    const auto attribute = [&](cudaDeviceAttr which) {
      int value = 0;
      return cudaDeviceGetAttribute(&value, which, number) == cudaSuccess ? value : 0;
    };
    constexpr double hertz = 1e3;  // of the unit of both clocks
    cycles_ = hertz * attribute(cudaDevAttrClockRate) * all.multiProcessorCount;
    if (is_slice) return;
    // Two transfers a clock, as NVIDIA's sample deviceQuery has it.
    bytes_ = 2 * hertz * attribute(cudaDevAttrMemoryClockRate) *
             attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
  }

  [[nodiscard]] peak_rates of(dtype type) const {
    return {cycles_ * flops_per_clock(capability_, type, is_geforce_), bytes_};
  }

 private:
  int capability_ = 0;
  bool is_geforce_ = false;
  double cycles_ = 0;  ///< per second, of all multiprocessors
  double bytes_ = 0;   ///< per second, of memory
};

/// Such as "4.92 TB/s, f32 66.9 TFLOP/s, tf32 535 TFLOP/s"; empty where nothing is known.
[[nodiscard]] inline std::string text(const peaks& of) {
  std::vector<std::string> known;
  if (const double bytes = of.of(dtype::f32).bytes; bytes > 0) {
    known.push_back(units::si(bytes, "B/s"));
  }
  for (const std::string_view type : dtype_names) {
    const double flops = of.of(dtype_from(type).value()).flops;
    if (flops > 0) known.push_back(fmt::format("{} {}", type, units::si(flops, "FLOP/s")));
  }
  return fmt::format("{}", fmt::join(known, ", "));
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
