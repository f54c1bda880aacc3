// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/kernels/gpu/image_kernel_source.hpp>
#include <layerbench/backend/kernels/gpu/kernel_source.hpp>
#include <layerbench/backend/kernels/gpu/tensor_kernel_source.hpp>
#include <layerbench/backend/kernels/gpu/verification_kernel_source.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/shape/dtype.hpp>

/// Layerbench's own kernels on GPUs, and the plans that launch them, for any run time of GPUs.
namespace layerbench::gpu {

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

/// Source of all kernels, for the element type that `number_definition` defines. `prelude`: see
/// runtime.
[[nodiscard]] inline std::string program_of(std::string_view prelude,
                                            std::string_view number_definition) {
  return fmt::format("{}{}{}{}{}{}", prelude, number_definition, kernel_source, image_kernel_source,
                     tensor_kernel_source, verification_kernel_source);
}

/// Launch configuration: `rows` rows of `blocks`, and threads per block.
struct grid {
  unsigned blocks = 1;
  unsigned threads = 1;
  unsigned rows = 1;
};

/// Launch configuration for `work` elements in each of `rows`: blocks split the elements and rows
/// of blocks the rows. About 8192 blocks fill any GPU, so a thread may compute several elements.
[[nodiscard]] inline grid grid_for(std::int64_t work, std::int64_t rows = 1) {
  constexpr std::int64_t warp = 32;
  constexpr std::int64_t max_threads = 256;
  constexpr std::int64_t max_rows = 65535;  // limit of gridDim.y (CUDA C++ Programming Guide)
  constexpr std::int64_t max_grid = 8192;
  const std::int64_t max_blocks = std::clamp<std::int64_t>(max_grid / rows, 1, 2048);
  const std::int64_t threads = std::clamp(rounded_up(work, warp), warp, max_threads);
  const std::int64_t blocks = std::clamp<std::int64_t>(ceil_div(work, threads), 1, max_blocks);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
          static_cast<unsigned>(std::min(rows, max_rows))};
}

/// Numbers of a type in 16 bytes: `lanes` of the kernels.
[[nodiscard]] inline std::int64_t lanes_of(dtype type) {
  return static_cast<std::int64_t>(16 / traits(type).bytes);
}
/// grid_for() where each thread has 16 bytes of numbers of the type.
[[nodiscard]] inline grid grid_for_vectors(std::int64_t size, dtype type) {
  return grid_for(ceil_div(size, lanes_of(type)));
}

class kernel;

/// Base class of the backends on GPUs: what layerbench's kernels need of a run time beside memory,
/// a compiler and launches. All work is enqueued in one stream, in its order. Functions throw
/// api_error if a call fails.
class runtime : public run::any_backend {
 public:
  /// The function that fill() calls, as names of algorithms have it.
  [[nodiscard]] virtual std::string_view fill_call() const = 0;
  [[nodiscard]] virtual int multiprocessors() const = 0;

  /// The kernel `name` in a data type. All kernels of an element type are compiled when the first
  /// is asked for, once per process and kind of GPU. Throws unsupported if there are none in the
  /// type.
  [[nodiscard]] kernel find(dtype type, const char* name) const;

 protected:
  /// What the compiler makes code for: code for equal texts can be shared.
  [[nodiscard]] virtual std::string target() const = 0;
  /// Source in front of the kernels: what the compiler lacks of CUDA C++, and the functions
  /// `float f16_widened(unsigned short)` and `unsigned short f16_narrowed(float)`.
  [[nodiscard]] virtual std::string_view prelude() const = 0;
  [[nodiscard]] virtual std::string compile(const std::string& source) const = 0;
  [[nodiscard]] virtual std::shared_ptr<void> load(const std::string& code) const = 0;
  [[nodiscard]] virtual void* function_of(void* loaded, const char* name) const = 0;
  /// Enqueues a kernel. `arguments` points to each of its arguments.
  virtual void launch(void* function, const char* name, const grid& size,
                      void** arguments) const = 0;

 private:
  friend class kernel;

  [[nodiscard]] const std::string& code(std::string_view number_definition) const {
    static std::map<std::pair<std::string, std::string_view>, std::string> cache;
    const std::pair key{target(), number_definition};
    auto found = cache.find(key);
    if (found == cache.end()) {
      found = cache.emplace(key, compile(program_of(prelude(), number_definition))).first;
    }
    return found->second;
  }

  /// By definition of `number`.
  mutable std::map<std::string_view, std::shared_ptr<void>> loaded_;
};

/// A loaded kernel.
class kernel {
 public:
  kernel(const runtime& device, void* function, const char* name)
      : device_(&device), function_(function), name_(name) {}

  /// Enqueues a launch. The arguments must have the types of the kernel's parameters; this is not
  /// checked.
  template <class... Arguments>
  void launch(const grid& size, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments)> all{static_cast<void*>(&arguments)...};
    device_->launch(function_, name_, size, all.data());
  }

 private:
  const runtime* device_;
  void* function_;
  const char* name_;
};

inline kernel runtime::find(dtype type, const char* name) const {
  const std::string_view number_definition = number_source(type);
  auto loaded = loaded_.find(number_definition);
  if (loaded == loaded_.end()) {
    loaded = loaded_.emplace(number_definition, load(code(number_definition))).first;
  }
  return {*this, function_of(loaded->second.get(), name), name};
}

}  // namespace layerbench::gpu
