// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/backend.hpp>
#include <layerbench/backend/numbers.hpp>
#include <layerbench/op/reorder.hpp>

namespace layerbench::cuda {

/// Strides, in elements, of a tensor that lies in `order`: images n*c*h*w as it says, with the
/// channels last where any order would do; all others row-major.
[[nodiscard]] inline dims strides(const dims& extents, layout order) {
  if (extents.size() == 4 && order != layout::nchw) {
    const std::int64_t c = extents[1];
    const std::int64_t w = extents[3];
    return {c * extents[2] * w, 1, w * c, c};
  }
  dims made(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i > 0; --i) made[i - 1] = made[i] * extents[i];
  return made;
}

/// What the plans of all ops on NVIDIA GPUs have in common: operands in device memory, in the
/// order that was asked for, without padding.
class tensor_plan {
 public:
  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }

  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    with_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(values.size());
      for_each_element(operand, [&](std::size_t logical, std::size_t place) {
        stored[place] = static_cast<T>(values[logical]);
      });
      copy(to, stored.data(), stored.size() * sizeof(T));
    });
  }

  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const {
    with_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(values.size());
      copy(stored.data(), from, stored.size() * sizeof(T));
      for_each_element(operand, [&](std::size_t logical, std::size_t place) {
        values[logical] = static_cast<float>(stored[place]);
      });
    });
  }

 protected:
  tensor_plan(const backend& here, std::vector<op::operand> logical, layout order)
      : order_(order), stream_(here.stream()) {
    for (op::operand& each : logical) {
      const bool channels_last = each.extents.size() == 4 && order != layout::nchw;
      std::string text =
          op::canonical_order(each.extents, channels_last ? "acdb" : op::plain_order(each.extents));
      const auto bytes = static_cast<std::size_t>(elements(each.extents)) * traits(each.type).bytes;
      operands_.push_back({std::move(each), std::move(text), bytes});
    }
  }

  [[nodiscard]] const op::operand& logical(std::size_t operand) const {
    return operands_[operand].logical;
  }
  [[nodiscard]] dims strides_of(std::size_t operand) const {
    return strides(logical(operand).extents, order_);
  }

 private:
  /// Calls `visit(position in row-major order, position in memory)` for each element.
  template <class Visit>
  void for_each_element(std::size_t operand, const Visit& visit) const {
    const dims& extents = logical(operand).extents;
    const dims steps = strides_of(operand);
    dims at(extents.size(), 0);
    const auto count = static_cast<std::size_t>(elements(extents));
    std::int64_t place = 0;
    for (std::size_t i = 0; i < count; ++i) {
      visit(i, static_cast<std::size_t>(place));
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        place += steps[axis];
        if (++at[axis] < extents[axis]) break;
        place -= at[axis] * steps[axis];
        at[axis] = 0;
      }
    }
  }

  /// Between this program's memory and the device's, behind all that was enqueued.
  void copy(void* to, const void* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  layout order_;
  cudaStream_t stream_;
  std::vector<plan_operand> operands_;
};

}  // namespace layerbench::cuda
