// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cudnn_ops.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/tensor_plan.hpp>
#include <layerbench/backend/cudnn/backend.hpp>

/// cuDNN's classic interface, one function an op: for the ops whose graphs the library would have
/// to compile at run time.
namespace layerbench::cudnn {

/// How the library stores a type. Throws unsupported.
[[nodiscard]] inline cudnnDataType_t data_type(dtype type) {
  switch (type) {
    case dtype::f32:
    case dtype::tf32: return CUDNN_DATA_FLOAT;
    case dtype::f16: return CUDNN_DATA_HALF;
    case dtype::bf16: return CUDNN_DATA_BFLOAT16;
    default: throw unsupported(fmt::format("layerbench has no cuDNN plans in {}", name(type)));
  }
}

/// Factors of what is computed, and of what was there before.
inline constexpr float one = 1;
inline constexpr float zero = 0;

class tensor_descriptor {
 public:
  /// Of less than four extents, which the library wants, others are one: the last, but of a single
  /// extent the first, since not all functions take more than 65535 images.
  tensor_descriptor(const dims& extents, const dims& strides, dtype type) {
    std::vector<int> sizes(extents.begin(), extents.end());
    std::vector<int> steps(strides.begin(), strides.end());
    const bool single = extents.size() == 1;
    while (sizes.size() < 4) {
      sizes.insert(single ? sizes.begin() : sizes.end(), 1);
      steps.insert(single ? steps.begin() : steps.end(), single ? sizes.back() : 1);
    }
    cuda::check(cudnnSetTensorNdDescriptor(get(), data_type(type), static_cast<int>(sizes.size()),
                                           sizes.data(), steps.data()),
                "cudnnSetTensorNdDescriptor");
  }
  [[nodiscard]] cudnnTensorDescriptor_t get() const noexcept { return self_.get(); }

 private:
  using handle = cuda::handle<cudnnTensorDescriptor_t, &cudnnDestroyTensorDescriptor>;
  handle self_ =
      cuda::make_handle<handle>("cudnnCreateTensorDescriptor", &cudnnCreateTensorDescriptor);
};

/// What the plans by classic functions have in common, and those by kernels: calls without scratch
/// memory, on tensors as the operands are.
class legacy_plan : public cuda::tensor_plan {
 public:
  [[nodiscard]] static std::size_t workspace_bytes() { return 0; }
  /// The function, or kernels, each behind "nvrtc_".
  [[nodiscard]] std::string algorithm() const { return std::string(function_); }

  using binding = std::vector<address>;  ///< of the operands

  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places.begin(), places.end()};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.assign(places.begin(), places.end());
  }

 protected:
  legacy_plan(const backend& device, std::vector<op::operand> logical, const plan_request& request,
              std::string_view function)
      : tensor_plan(device, std::move(logical), request.order),
        library_(device.library()),
        function_(function) {}

  /// With an order for each operand.
  legacy_plan(const backend& device, std::vector<op::operand> logical,
              const std::vector<std::string>& orders, std::string_view function)
      : tensor_plan(device, std::move(logical), orders),
        library_(device.library()),
        function_(function) {}

  [[nodiscard]] cudnnHandle_t library() const { return library_; }
  [[nodiscard]] tensor_descriptor described(std::size_t operand) const {
    return {logical(operand).extents, strides_of(operand), logical(operand).type};
  }
  void check(cudnnStatus_t status) const { cuda::check(status, function_); }

 private:
  cudnnHandle_t library_;
  std::string_view function_;
};

}  // namespace layerbench::cudnn
