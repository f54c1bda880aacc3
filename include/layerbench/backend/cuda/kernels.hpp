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
#include <layerbench/backend/cuda/draw_kernel_source.hpp>
#include <layerbench/backend/cuda/handle.hpp>
#include <layerbench/backend/cuda/image_kernel_source.hpp>
#include <layerbench/backend/cuda/kernel_source.hpp>
#include <layerbench/backend/cuda/nvrtc.hpp>
#include <layerbench/backend/cuda/tensor_kernel_source.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::cuda {

/// Source that defines the element type `number` of the kernels. Throws unsupported if there are no
/// kernels in the data type.
[[nodiscard]] inline std::string_view number_source(dtype type) {
  switch (type) {
    case dtype::f32:
    case dtype::tf32: return f32_source;
    case dtype::bf16: return bf16_source;
    case dtype::f16: return f16_source;
    default: throw unsupported(fmt::format("layerbench has no kernels in {}", name(type)));
  }
}

/// Source of all kernels, for the element type that `number_definition` defines.
[[nodiscard]] inline std::string program_of(std::string_view number_definition) {
  return fmt::format("{}{}{}{}{}", number_definition, kernel_source, image_kernel_source,
                     tensor_kernel_source, draw_kernel_source);
}

/// Launch configuration: blocks, and threads per block.
struct grid {
  dim3 blocks;
  unsigned threads;
};

/// Launch configuration for `work` elements in each of `rows`: blocks.x splits the elements and
/// blocks.y the rows. About 8192 blocks fill any GPU, so a thread may compute several elements.
[[nodiscard]] inline grid grid_for(std::int64_t work, std::int64_t rows = 1) {
  constexpr std::int64_t warp = 32;
  constexpr std::int64_t max_threads = 256;
  constexpr std::int64_t max_rows = 65535;  // limit of gridDim.y (CUDA C++ Programming Guide)
  constexpr std::int64_t max_grid = 8192;
  const std::int64_t max_blocks = std::clamp<std::int64_t>(max_grid / rows, 1, 2048);
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t threads = std::clamp(ceil_div(work, warp) * warp, warp, max_threads);
  const std::int64_t blocks = std::clamp<std::int64_t>(ceil_div(work, threads), 1, max_blocks);
  return {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(std::min(rows, max_rows))),
          static_cast<unsigned>(threads)};
}

/// Numbers of a type in 16 bytes: `lanes` of the kernels.
[[nodiscard]] inline std::int64_t lanes_of(dtype type) {
  return static_cast<std::int64_t>(16 / traits(type).bytes);
}
/// grid_for() where each thread has 16 bytes of numbers of the type.
[[nodiscard]] inline grid grid_for_vectors(std::int64_t size, dtype type) {
  const std::int64_t lanes = lanes_of(type);
  return grid_for((size + lanes - 1) / lanes);
}

/// A loaded kernel.
class kernel {
 public:
  kernel(cudaKernel_t self, std::string_view name) : self_(self), name_(name) {}

  /// Enqueues a launch. The arguments must have the types of the kernel's parameters; this is not
  /// checked.
  template <class... Arguments>
  void launch(cudaStream_t target, const grid& size, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments)> all{static_cast<void*>(&arguments)...};
    const cudaError_t status = cudaLaunchKernel(static_cast<const void*>(self_), size.blocks,
                                                dim3(size.threads), all.data(), 0, target);
    if (status != cudaSuccess) check(status, fmt::format("cudaLaunchKernel of {}", name_));
  }

 private:
  cudaKernel_t self_;
  std::string_view name_;
};

/// The kernels of layerbench on a GPU. They are compiled at first use, once per process, compute
/// capability and element type.
class kernels {
 public:
  explicit kernels(int device) : device_(device) {}

  /// The kernel `name` in a data type. Throws unsupported if there are no kernels in the type, and
  /// api_error if compiling or loading fails.
  [[nodiscard]] kernel find(dtype type, const char* name) {
    const std::string_view number_definition = number_source(type);
    auto loaded = loaded_.find(number_definition);
    if (loaded == loaded_.end()) {
      loaded = loaded_.emplace(number_definition, load(code(number_definition))).first;
    }
    cudaKernel_t result = nullptr;
    check(cudaLibraryGetKernel(&result, loaded->second.get(), name),
          fmt::format("cudaLibraryGetKernel of {}", name));
    return {result, name};
  }

 private:
  using library = handle<cudaLibrary_t, &cudaLibraryUnload>;

  [[nodiscard]] const std::string& code(std::string_view number_definition) const {
    static std::map<std::pair<int, std::string_view>, std::string> cache;
    const int capability = properties_of(device_).compute_capability;
    const std::pair key{capability, number_definition};
    auto found = cache.find(key);
    if (found == cache.end()) {
      found = cache.emplace(key, compiled(program_of(number_definition), capability)).first;
    }
    return found->second;
  }

  [[nodiscard]] static library load(const std::string& code) {
    cudaLibrary_t raw = nullptr;
    check(cudaLibraryLoadData(&raw, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    return library(raw);
  }

  int device_;
  std::map<std::string_view, library> loaded_;  ///< by definition of `number`
};

}  // namespace layerbench::cuda
