// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nvrtc.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/status.hpp>

template <>
struct layerbench::cuda::status_traits<nvrtcResult> {
  static constexpr std::string_view library = "NVRTC";
  static bool is_success(nvrtcResult status) { return status == NVRTC_SUCCESS; }
  static bool is_unsupported(nvrtcResult /*status*/) { return false; }
  static std::string text(nvrtcResult status) {
    return fmt::format("{} ({})", nvrtcGetErrorString(status), static_cast<int>(status));
  }
};

/// NVIDIA's run-time compiler (NVRTC). It needs neither a GPU nor a driver.
namespace layerbench::cuda {

/// What gpu::runtime wants in front of the kernels: the conversions of f16 are instructions.
inline constexpr std::string_view prelude = R"cuda(
float f16_widened(unsigned short bits) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
  return wide;
}
unsigned short f16_narrowed(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
)cuda";

namespace detail {

struct program_destroyer {
  using pointer = nvrtcProgram;
  void operator()(nvrtcProgram raw) const noexcept { static_cast<void>(nvrtcDestroyProgram(&raw)); }
};
using program = std::unique_ptr<nvrtcProgram, program_destroyer>;

/// Log or code of a program by the functions `call` and `call`Size.
[[nodiscard]] inline std::string text_of(const program& source, std::string_view call,
                                         nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                                         nvrtcResult (*get)(nvrtcProgram, char*)) {
  std::size_t size = 0;
  check(size_of(source.get(), &size), fmt::format("{}Size", call));
  std::string text(size, '\0');
  check(get(source.get(), text.data()), call);
  return text;
}

/// Compute capabilities that NVRTC generates machine code for, such as 90.
[[nodiscard]] inline std::vector<int> supported_capabilities() {
  int count = 0;
  check(nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> all(static_cast<std::size_t>(count));
  check(nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs");
  return all;
}

}  // namespace detail

/// Compiles CUDA C++ `source` for a compute capability, such as 90, to machine code. If this NVRTC
/// does not support the capability, the result is PTX for the newest supported one below it, which
/// the driver compiles. Throws api_error with the compiler's log.
[[nodiscard]] inline std::string compiled(const std::string& source, int capability) {
  const std::vector<int> supported = detail::supported_capabilities();
  const bool is_supported = std::ranges::find(supported, capability) != supported.end();
  int newest = 0;
  for (const int item : supported) newest = item <= capability ? std::max(newest, item) : newest;
  const std::string target = is_supported ? fmt::format("-arch=sm_{}", capability)
                                          : fmt::format("-arch=compute_{}", newest);
  const std::array options{target.c_str(), "-std=c++17", "-default-device"};
  nvrtcProgram raw = nullptr;
  check(nvrtcCreateProgram(&raw, source.c_str(), "layerbench.cu", 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  const detail::program result(raw);
  constexpr std::string_view call = "nvrtcCompileProgram";
  const nvrtcResult status =
      nvrtcCompileProgram(result.get(), static_cast<int>(options.size()), options.data());
  if (status == NVRTC_ERROR_COMPILATION) {
    throw api_error(status_traits<nvrtcResult>::library, fmt::format("{} {}", call, target),
                    status_traits<nvrtcResult>::text(status) + ": " +
                        detail::text_of(result, "nvrtcGetProgramLog", &nvrtcGetProgramLogSize,
                                        &nvrtcGetProgramLog));
  }
  check(status, call);
  return is_supported ? detail::text_of(result, "nvrtcGetCUBIN", &nvrtcGetCUBINSize, &nvrtcGetCUBIN)
                      : detail::text_of(result, "nvrtcGetPTX", &nvrtcGetPTXSize, &nvrtcGetPTX);
}

}  // namespace layerbench::cuda
