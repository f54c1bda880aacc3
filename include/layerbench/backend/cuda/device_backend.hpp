// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/clock.hpp>
#include <layerbench/backend/cuda/device.hpp>
#include <layerbench/backend/cuda/graph.hpp>
#include <layerbench/backend/cuda/nvml.hpp>
#include <layerbench/backend/cuda/nvrtc.hpp>
#include <layerbench/backend/cuda/resources.hpp>
#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/base/description.hpp>

namespace layerbench::cuda {

/// Adds the environment variables that change what NVIDIA's libraries do; without those that only
/// turn on logs.
inline void add_library_variables(description& facts) {
  add_variables(facts, {"NVIDIA_TF32_OVERRIDE", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING"});
  add_variables(facts, {"CUDA_VISIBLE_DEVICES"}, field_dimension::condition);  // of equal ones
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string name(text.substr(0, text.find('=')));
    const bool of_a_library =
        name.starts_with("CUBLASLT_") || name.starts_with("CUDNN_") || name.starts_with("NCCL_");
    const bool logs = name.find("_LOG") != name.npos || name.starts_with("NCCL_DEBUG");
    if (of_a_library && !logs) add_variables(facts, {name.c_str()});
  }
}

/// Base class of the backends on NVIDIA GPUs: the current GPU and one non-blocking stream, to which
/// one host thread enqueues all work.
class device_backend : public gpu::runtime {
 public:
  explicit device_backend(int /*threads*/)
      : device_(current_device()),
        nvml_(bus_id_of(device_)),
        peaks_(device_, nvml_.is_divided()),
        stream_(make_stream()),
        clock_(stream_.get()) {}

  [[nodiscard]] static run::backend_entry entry() {
    return {.probe = &unavailable_reason,
            .describe = &describe,
            .has_graphs = true,
            .cache_bytes = &cache_bytes,
            .require_memory = &require,
            .choose_device = &choose,
            .devices = &device_count,
            .lock_clocks = [](int mhz) -> std::shared_ptr<void> {
              return std::make_shared<clock_lock>(static_cast<unsigned>(mhz),
                                                  bus_id_of(current_device()));
            }};
  }

  static void choose(int number) {
    const cudaError_t status = cudaSetDevice(number);
    if (status == cudaSuccess) return;
    throw unavailable(fmt::format("GPU {} cannot be used here: cudaSetDevice: {}", number,
                                  status_traits<cudaError_t>::text(status)));
  }

  static void describe(description& facts) {
    using enum field_dimension;
    const properties gpu = properties_of(current_device());
    facts["gpu"] = {gpu.name, device};
    facts["gpu_compute_capability"] = {
        fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10), device};
    facts["gpu_multiprocessors"] = {std::to_string(gpu.multiprocessors), device};
    facts["gpu_l2_bytes"] = {std::to_string(gpu.l2_bytes), device};
    facts["gpu_memory_bytes"] = {std::to_string(gpu.memory_bytes), device};
    facts["cuda_driver_version"] = {version_text(driver_version()), driver};
    facts["cuda_version"] = {version_text(runtime_version()), version};
    facts["cuda_clock"] = {"events in the stream", version};
    facts["cuda_compiled_version"] = {version_text(CUDART_VERSION), version};
    const nvml managed(bus_id_of(current_device()));
    managed.describe(facts);
    std::string peaks = text(cuda::peaks(current_device(), managed.is_divided()));
    // Computed from the GPU's properties.
    if (!peaks.empty()) facts["gpu_peaks"] = {std::move(peaks), condition};
    if (managed.is_divided()) facts["gpu_uuid"] = {"MIG-" + uuid_of(current_device()), condition};
    add_library_variables(facts);
  }

  void activate() const override { check(cudaSetDevice(device_), "cudaSetDevice"); }
  /// Bytes of the L2 cache. 0 without a GPU, where rows can still be listed.
  static std::size_t cache_bytes() {
    return unavailable_reason() ? 0 : properties_of(current_device()).l2_bytes;
  }
  /// Throws not_enough_memory if the GPU has less than `bytes` of free memory.
  static void require(std::size_t bytes) {
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (bytes <= free) return;
    throw not_enough_memory(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(free));
  }
  [[nodiscard]] std::unique_ptr<run::device_memory> allocate(std::size_t bytes) const override {
    return std::make_unique<run::memory_of<buffer>>(buffer(bytes));
  }
  void fill(address to, std::size_t bytes, std::byte value) const override {
    check(cudaMemsetAsync(to, std::to_integer<int>(value), bytes, stream()), "cudaMemsetAsync");
  }
  /// Copies memory; in a captured graph by a kernel, so both addresses must be on the device. In a
  /// model a kernel precedes each call, and the gap between a copy and a kernel may be longer than
  /// between two kernels.
  void copy(address to, const void* from, std::size_t bytes) const override {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream(), &status), "cudaStreamIsCapturing");
    if (status != cudaStreamCaptureStatusNone) return copy_by_kernel(to, from, bytes);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
  }
  /// Waits for all enqueued work. Throws api_error if any of it failed.
  void synchronize() const override {
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  }
  [[nodiscard]] std::string_view fill_call() const override { return "cudaMemsetAsync"; }
  [[nodiscard]] int multiprocessors() const override {
    return properties_of(device_).multiprocessors;
  }

  [[nodiscard]] std::optional<std::string> lasting_error() const override {
    return lasting_error_after(stream());
  }

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_.get(); }
  [[nodiscard]] void* queue() const override { return stream(); }
  [[nodiscard]] run::device_clock* clock() override { return &clock_; }
  [[nodiscard]] std::unique_ptr<run::recording> record(
      const std::function<void()>& work) const override {
    copy_by_kernel(nullptr, nullptr, 0);  // loading the kernel cannot be captured
    return std::make_unique<graph>(stream(), work);
  }
  [[nodiscard]] std::map<std::string, double> telemetry() const override { return nvml_.read(); }
  [[nodiscard]] peak_rates peaks(dtype type) const override { return peaks_.of(type); }

 protected:
  [[nodiscard]] std::string target() const override {
    return std::to_string(properties_of(device_).compute_capability);
  }
  [[nodiscard]] std::string_view prelude() const override { return cuda::prelude; }
  [[nodiscard]] std::string compile(const std::string& source) const override {
    return compiled(source, properties_of(device_).compute_capability);
  }
  [[nodiscard]] std::shared_ptr<void> load(const std::string& code) const override {
    cudaLibrary_t raw = nullptr;
    check(cudaLibraryLoadData(&raw, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    return handle<cudaLibrary_t, &cudaLibraryUnload>(raw);
  }
  [[nodiscard]] void* function_of(void* loaded, const char* name) const override {
    cudaKernel_t result = nullptr;
    check(cudaLibraryGetKernel(&result, static_cast<cudaLibrary_t>(loaded), name),
          fmt::format("cudaLibraryGetKernel of {}", name));
    return static_cast<void*>(result);
  }
  void launch(void* function, const char* name, const gpu::grid& size,
              void** arguments) const override {
    const cudaError_t status = cudaLaunchKernel(function, dim3(size.blocks, size.rows),
                                                dim3(size.threads), arguments, 0, stream());
    if (status != cudaSuccess) check(status, fmt::format("cudaLaunchKernel of {}", name));
  }

 private:
  void copy_by_kernel(address to, const void* from, std::size_t bytes) const {
    const auto size = static_cast<std::int64_t>(bytes);
    if (!copy_kernel_) copy_kernel_ = find(dtype::f32, "copy");
    copy_kernel_->launch(gpu::grid_for(size / 16 + 1), from, to, size);
  }

  int device_;
  nvml nvml_;
  cuda::peaks peaks_;
  cuda::stream stream_;
  stream_clock clock_;
  mutable std::optional<gpu::kernel> copy_kernel_;  ///< found when it is first used
};

}  // namespace layerbench::cuda
