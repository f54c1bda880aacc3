// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <cudnn_ops.h>

#include <fmt/format.h>

#include <layerbench/backend/cudnn/backend.hpp>
#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>

/// cuDNN's legacy API, one function per op, for ops whose graphs cuDNN would have to compile at run
/// time.
namespace layerbench::cudnn {

/// cuDNN's storage type of a data type. Throws unsupported.
[[nodiscard]] inline cudnnDataType_t data_type(dtype type) {
  switch (type) {
    case dtype::f32:
    case dtype::tf32: return CUDNN_DATA_FLOAT;
    case dtype::f16: return CUDNN_DATA_HALF;
    case dtype::bf16: return CUDNN_DATA_BFLOAT16;
    default: throw unsupported(fmt::format("layerbench has no cuDNN plans in {}", name(type)));
  }
}

/// Scaling factors alpha, of the result, and beta, of the previous values of the output.
inline constexpr float one = 1;
inline constexpr float zero = 0;

class tensor_descriptor {
 public:
  /// cuDNN requires at least four extents. A tensor with fewer gets trailing extents of 1; one with
  /// a single extent gets leading ones, because some functions take at most 65535 images.
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

/// Base class of the plans by legacy functions.
class direct_plan : public gpu::call_plan {
 protected:
  direct_plan(const backend& device, std::vector<op::operand> logical, const plan_request& request,
              std::string function)
      : call_plan(std::move(function), device, std::move(logical), request.layout),
        library_(device.library()) {}

  [[nodiscard]] cudnnHandle_t library() const { return library_; }
  [[nodiscard]] tensor_descriptor tensor_descriptor_of(std::size_t operand) const {
    return {logical(operand).extents, strides_of(operand), logical(operand).type};
  }
  void check(cudnnStatus_t status) const { cuda::check(status, algorithm()); }

 private:
  cudnnHandle_t library_;
};

}  // namespace layerbench::cudnn
