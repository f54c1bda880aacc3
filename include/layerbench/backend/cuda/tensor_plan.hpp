// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/backend.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench::cuda {

/// Strides in elements: images n*c*h*w in `order`, channels-last for layout::any; other tensors
/// row-major.
[[nodiscard]] inline dims strides(const dims& extents, layout order) {
  if (extents.size() == 4 && order != layout::nchw) {
    const std::int64_t c = extents[1];
    const std::int64_t w = extents[3];
    return {c * extents[2] * w, 1, w * c, c};
  }
  return op::strides(extents, op::plain_order(extents));
}

/// Strides in elements of a tensor in `order`, in op::reorder's notation. Throws unsupported if the
/// order is blocked.
[[nodiscard]] inline dims strides(const dims& extents, std::string_view order) {
  if (order.size() != extents.size() || !op::is_permutation(order)) {
    throw unsupported(fmt::format("layerbench has no blocked orders, such as {}, on GPUs", order));
  }
  return op::strides(extents, order);
}

/// Base class of the plans on NVIDIA GPUs: operands in device memory, in the requested order and
/// without padding.
class tensor_plan {
 public:
  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }

  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    const double scale = operands_[operand].logical.scale;
    with_stored_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(values.size());
      for_each_element(operand, [&](std::size_t logical, std::size_t offset) {
        if constexpr (std::is_integral_v<T>) {
          stored[offset] = static_cast<T>(std::nearbyint(values[logical] / scale));
        } else {
          stored[offset] = static_cast<T>(values[logical]);
        }
      });
      copy(to, stored.data(), stored.size() * sizeof(T));
    });
  }

  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const {
    const double scale = operands_[operand].logical.scale;
    with_stored_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(values.size());
      copy(stored.data(), from, stored.size() * sizeof(T));
      for_each_element(operand, [&](std::size_t logical, std::size_t offset) {
        if constexpr (std::is_integral_v<T>) {
          values[logical] = static_cast<float>(stored[offset] * scale);
        } else {
          values[logical] = static_cast<float>(stored[offset]);
        }
      });
    });
  }

 protected:
  tensor_plan(const backend& device, std::vector<op::operand> logical, layout order)
      : stream_(device.stream()) {
    for (op::operand& operand : logical) {
      const bool channels_last = operand.extents.size() == 4 && order != layout::nchw;
      const std::string text = channels_last ? "acdb" : op::plain_order(operand.extents);
      dims operand_strides = strides(operand.extents, order);
      add(std::move(operand), text, std::move(operand_strides));
    }
  }

  /// `orders`: one per operand, in op::reorder's notation. Throws unsupported for blocked orders.
  tensor_plan(const backend& device, std::vector<op::operand> logical,
              const std::vector<std::string>& orders)
      : stream_(device.stream()) {
    for (std::size_t i = 0; i < logical.size(); ++i) {
      dims operand_strides = strides(logical[i].extents, std::string_view(orders.at(i)));
      add(std::move(logical[i]), orders[i], std::move(operand_strides));
    }
  }

  /// The error bound of an exact result that a library may also round before it adds `bias`. cuBLAS
  /// does so where it splits the sums of a product, and some kernels of cuDNN.
  template <class Sum>
  [[nodiscard]] static Sum rounded_before_bias(Sum exact, const op::operand& bias) {
    const double largest = std::max(std::abs(bias.low), std::abs(bias.high));
    exact.roundings = std::max<std::int64_t>(exact.roundings, 2);
    exact.rounded = std::max(exact.rounded, std::abs(exact.value) + largest);
    return exact;
  }

  [[nodiscard]] const op::operand& logical(std::size_t operand) const {
    return operands_[operand].logical;
  }
  [[nodiscard]] const dims& strides_of(std::size_t operand) const { return strides_[operand]; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  void add(op::operand logical, const std::string& order, dims operand_strides) {
    std::string text = op::canonical_order(logical.extents, order);
    const auto bytes =
        static_cast<std::size_t>(elements(logical.extents)) * traits(logical.type).bytes;
    operands_.push_back({std::move(logical), std::move(text), bytes});
    strides_.push_back(std::move(operand_strides));
  }

  /// Calls `visit(row-major index, offset in memory)` for each element; both count elements.
  template <class Visit>
  void for_each_element(std::size_t operand, const Visit& visit) const {
    const dims& extents = logical(operand).extents;
    const dims& operand_strides = strides_of(operand);
    dims index(extents.size(), 0);
    const auto count = static_cast<std::size_t>(elements(extents));
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
      visit(i, static_cast<std::size_t>(offset));
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        offset += operand_strides[axis];
        if (++index[axis] < extents[axis]) break;
        offset -= index[axis] * operand_strides[axis];
        index[axis] = 0;
      }
    }
  }

  /// Copies between host and device memory after all enqueued work, and waits.
  void copy(void* to, const void* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  cudaStream_t stream_;
  std::vector<plan_operand> operands_;
  std::vector<dims> strides_;
};

}  // namespace layerbench::cuda
