// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/op/layernorm.hpp>

namespace layerbench::host {

/// Gradients of a normalization by the root mean square.
struct rms_gradient {
  static constexpr const char* algorithm = "layerbench:rms_gradient";

  /// The number of blocks of rows, each with its own sums of the scale's gradient: no two
  /// threads write to the same element, and results do not depend on the number of threads.
  static constexpr std::int64_t row_blocks = 64;

  /// `at`: the op's operands, and row_blocks*columns floats of scratch memory. Gradients as
  /// backend/reference/layernorm.hpp has them.
  template <class T>
  static void run(const op::layernorm& o, std::span<const address> at) {
    const std::size_t variance_operand = o.scale ? 3 : 2;
    const auto* src = static_cast<const T*>(at[0]);
    const auto* diff_dst = static_cast<const T*>(at[1]);
    const auto* scale = o.scale ? static_cast<const float*>(at[2]) : nullptr;
    const auto* variance = static_cast<const float*>(at[variance_operand]);
    auto* diff_src = static_cast<T*>(at[variance_operand + 1]);
    auto* sums = static_cast<float*>(at.back());
    const std::int64_t rows = elements(o.rows());
    const std::int64_t columns = o.columns();
    const auto epsilon = static_cast<float>(o.epsilon);
#pragma omp parallel for
    for (std::int64_t block = 0; block < row_blocks; ++block) {
      float* sum = sums + block * columns;
      if (scale != nullptr) std::fill_n(sum, columns, 0.0F);
      for (std::int64_t row = rows * block / row_blocks; row < rows * (block + 1) / row_blocks;
           ++row) {
        const std::int64_t first = row * columns;
        const float factor = 1 / std::sqrt(variance[row] + epsilon);
        if (scale != nullptr) {
          one_row(
              columns, factor, src + first, diff_dst + first, diff_src + first,
              [=](std::int64_t i) { return scale[i]; },
              [=](std::int64_t i, float gradient) { sum[i] += gradient; });
        } else {
          one_row(
              columns, factor, src + first, diff_dst + first, diff_src + first,
              [](std::int64_t /*i*/) { return 1.0F; },
              [](std::int64_t /*i*/, float /*gradient*/) {});
        }
      }
    }
    if (scale == nullptr) return;
    auto* diff_scale = static_cast<float*>(at[variance_operand + 2]);
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < columns; ++i) {
      float total = 0;
      for (std::int64_t block = 0; block < row_blocks; ++block) total += sums[block * columns + i];
      diff_scale[i] = total;
    }
  }

 private:
  /// One row; `add_to_scale(i, gradient)` takes its gradients of the scale.
  template <class T, class Scale, class AddToScale>
  static void one_row(std::int64_t columns, float factor, const T* src, const T* diff_dst,
                      T* diff_src, const Scale& scale, const AddToScale& add_to_scale) {
    float product = 0;
#pragma omp simd reduction(+ : product)
    for (std::int64_t i = 0; i < columns; ++i) {
      product += static_cast<float>(diff_dst[i]) * scale(i) * static_cast<float>(src[i]);
    }
    product *= factor * factor / static_cast<float>(columns);
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) {
      const auto x = static_cast<float>(src[i]);
      const auto gradient = static_cast<float>(diff_dst[i]);
      diff_src[i] = static_cast<T>(factor * (gradient * scale(i) - x * product));
      add_to_scale(i, gradient * x * factor);
    }
  }
};

}  // namespace layerbench::host
