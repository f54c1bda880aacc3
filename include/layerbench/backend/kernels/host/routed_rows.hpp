// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <layerbench/base/rounding.hpp>
#include <layerbench/op/routed_gemm.hpp>

namespace layerbench::host {

inline constexpr const char* gather_rows_name = "layerbench:gather_rows";
inline constexpr const char* scatter_rows_name = "layerbench:scatter_rows";

/// Copies the row of a token to each row of its choices.
template <class T>
void gather_rows(const op::routed_gemm& o, const std::int64_t* row_of, const T* src, T* rows) {
  const std::int64_t choices = o.rows();
#pragma omp parallel for
  for (std::int64_t i = 0; i < choices; ++i) {
    std::copy_n(src + i / o.top_k * o.k, o.k, rows + row_of[i] * o.k);
  }
}

/// Adds the rows of each token's choices, times their scales, in single precision.
template <class T>
void scatter_rows(const op::routed_gemm& o, const std::int64_t* row_of, const T* rows,
                  const T* scales, T* dst) {
  constexpr std::int64_t most = 256;  // columns of a piece
  const std::int64_t pieces = ceil_div(o.n, most);
#pragma omp parallel for
  for (std::int64_t piece = 0; piece < o.tokens * pieces; ++piece) {
    const std::int64_t token = piece / pieces;
    const std::int64_t first = piece % pieces * most;
    const std::int64_t count = std::min(most, o.n - first);
    std::array<float, most> sums{};
    float* sum = sums.data();
    for (std::int64_t i = token * o.top_k; i < (token + 1) * o.top_k; ++i) {
      const auto scale = static_cast<float>(scales[i]);
      const T* row = rows + row_of[i] * o.n + first;
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) sum[j] += scale * static_cast<float>(row[j]);
    }
    T* to = dst + token * o.n + first;
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<T>(sum[j]);
  }
}

}  // namespace layerbench::host
