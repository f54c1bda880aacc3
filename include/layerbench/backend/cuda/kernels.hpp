// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/device.hpp>
#include <layerbench/backend/cuda/handle.hpp>
#include <layerbench/backend/cuda/image_kernel_source.hpp>
#include <layerbench/backend/cuda/kernel_source.hpp>
#include <layerbench/backend/cuda/nvrtc.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::cuda {

/// What kernels call `number` in a data type. Throws unsupported.
[[nodiscard]] inline std::string_view number_source(dtype type) {
  switch (type) {
    case dtype::f32:
    case dtype::tf32: return f32_source;
    case dtype::bf16: return bf16_source;
    case dtype::f16: return f16_source;
    default: throw unsupported(fmt::format("layerbench has no kernels in {}", name(type)));
  }
}

/// All kernels, of numbers that are defined so.
[[nodiscard]] inline std::string program_of(std::string_view typed_span) {
  return fmt::format("{}{}{}", typed_span, kernel_source, image_kernel_source);
}

/// Blocks, and threads in each.
struct grid {
  dim3 blocks;
  unsigned threads;
};

/// For `work` elements in each of `rows`, if with more than one of them for a thread: no more
/// blocks in all than keep every GPU busy.
[[nodiscard]] inline grid grid_for(std::int64_t work, std::int64_t rows = 1) {
  constexpr std::int64_t warp = 32;
  constexpr std::int64_t most_threads = 256;
  constexpr std::int64_t most_rows = 65535;  // of blocks, as CUDA has them
  constexpr std::int64_t most_in_all = 8192;
  const std::int64_t most_blocks = std::clamp<std::int64_t>(most_in_all / rows, 1, 2048);
  const auto parts = [](std::int64_t of, std::int64_t size) { return (of + size - 1) / size; };
  const std::int64_t threads = std::clamp(parts(work, warp) * warp, warp, most_threads);
  const std::int64_t blocks = std::clamp<std::int64_t>(parts(work, threads), 1, most_blocks);
  return {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(std::min(rows, most_rows))),
          static_cast<unsigned>(threads)};
}

/// A function on a GPU.
class kernel {
 public:
  kernel(cudaKernel_t self, std::string_view name) : self_(self), name_(name) {}

  /// Enqueues a call. Arguments must have the types of the kernel's parameters: nobody checks.
  template <class... Arguments>
  void launch(cudaStream_t behind, const grid& on, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments)> all{static_cast<void*>(&arguments)...};
    const cudaError_t status = cudaLaunchKernel(static_cast<const void*>(self_), on.blocks,
                                                dim3(on.threads), all.data(), 0, behind);
    if (status != cudaSuccess) check(status, fmt::format("cudaLaunchKernel of {}", name_));
  }

 private:
  cudaKernel_t self_;
  std::string_view name_;
};

/// The suite's own kernels on a GPU. They are compiled when one is first asked for, once in a
/// process for each kind of GPU and numbers.
class kernels {
 public:
  explicit kernels(int device) : device_(device) {}

  /// The kernel of that name in a data type. Throws unsupported, api_error.
  [[nodiscard]] kernel find(dtype type, const char* name) {
    const std::string_view typed_span = number_source(type);
    auto loaded = loaded_.find(typed_span);
    if (loaded == loaded_.end()) loaded = loaded_.emplace(typed_span, load(code(typed_span))).first;
    cudaKernel_t result = nullptr;
    check(cudaLibraryGetKernel(&result, loaded->second.get(), name),
          fmt::format("cudaLibraryGetKernel of {}", name));
    return {result, name};
  }

 private:
  using library = handle<cudaLibrary_t, &cudaLibraryUnload>;

  [[nodiscard]] const std::string& code(std::string_view typed_span) const {
    static std::map<std::pair<int, std::string_view>, std::string> known;
    const int capability = properties_of(device_).compute_capability;
    const std::pair key{capability, typed_span};
    auto at = known.find(key);
    if (at == known.end())
      at = known.emplace(key, compiled(program_of(typed_span), capability)).first;
    return at->second;
  }

  [[nodiscard]] static library load(const std::string& code) {
    cudaLibrary_t raw = nullptr;
    check(cudaLibraryLoadData(&raw, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    return library(raw);
  }

  int device_;
  std::map<std::string_view, library> loaded_;  ///< by their numbers
};

}  // namespace layerbench::cuda
