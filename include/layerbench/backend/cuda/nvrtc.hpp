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

/// NVIDIA's compiler as a library (NVRTC), which needs neither a GPU nor a driver.
namespace layerbench::cuda {

namespace detail {

struct program_destroyer {
  using pointer = nvrtcProgram;
  void operator()(nvrtcProgram raw) const noexcept { static_cast<void>(nvrtcDestroyProgram(&raw)); }
};
using program = std::unique_ptr<nvrtcProgram, program_destroyer>;

/// What a program holds of a kind: its log, or its code. `size_of` and `get` are named so.
[[nodiscard]] inline std::string text_of(const program& of, std::string_view call,
                                         nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                                         nvrtcResult (*get)(nvrtcProgram, char*)) {
  std::size_t size = 0;
  check(size_of(of.get(), &size), fmt::format("{}Size", call));
  std::string text(size, '\0');
  check(get(of.get(), text.data()), call);
  return text;
}

/// Compute capabilities, such as 90, that code can be made for.
[[nodiscard]] inline std::vector<int> known_capabilities() {
  int count = 0;
  check(nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> all(static_cast<std::size_t>(count));
  check(nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs");
  return all;
}

}  // namespace detail

/// Code of CUDA C++ `source` for GPUs of a compute capability, such as 90: machine code, or, for
/// GPUs that this NVRTC does not know, PTX of the newest ones before them, which the driver makes
/// machine code of. Throws api_error, with what the compiler said.
[[nodiscard]] inline std::string compiled(const std::string& source, int capability) {
  const std::vector<int> known = detail::known_capabilities();
  const bool is_known = std::ranges::find(known, capability) != known.end();
  int newest = 0;
  for (const int item : known) newest = item <= capability ? std::max(newest, item) : newest;
  const std::string target =
      is_known ? fmt::format("-arch=sm_{}", capability) : fmt::format("-arch=compute_{}", newest);
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
  return is_known ? detail::text_of(result, "nvrtcGetCUBIN", &nvrtcGetCUBINSize, &nvrtcGetCUBIN)
                  : detail::text_of(result, "nvrtcGetPTX", &nvrtcGetPTXSize, &nvrtcGetPTX);
}

}  // namespace layerbench::cuda
