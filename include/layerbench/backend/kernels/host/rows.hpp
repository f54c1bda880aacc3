// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <layerbench/base/rounding.hpp>
#include <layerbench/op/routed_gemm.hpp>

/// What a matrix product has before and behind it where a library computes only the product in f32,
/// and what the products of experts have.
namespace layerbench::host {

inline constexpr const char* bias_rows_name = "layerbench:bias_rows";
inline constexpr const char* bias_images_name = "layerbench:bias_images";
inline constexpr const char* round_name = "layerbench:round";
inline constexpr const char* gather_rows_name = "layerbench:gather_rows";
inline constexpr const char* scatter_rows_name = "layerbench:scatter_rows";

/// Fewest elements for which other threads are worth waking: the grain of PyTorch's loops
/// (at::internal::GRAIN_SIZE).
inline constexpr std::int64_t parallel_elements = 32768;

/// Writes the bias to each row of a row-major matrix rows*columns, to which a product is added.
template <class T>
void bias_rows(std::int64_t rows, std::int64_t columns, const T* bias, float* matrix) {
#pragma omp parallel for if (rows * columns >= parallel_elements)
  for (std::int64_t row = 0; row < rows; ++row) {
    float* to = matrix + row * columns;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) to[i] = static_cast<float>(bias[i]);
  }
}

/// The same for images n*channels*pixels.
inline void bias_images(std::int64_t images, std::int64_t channels, std::int64_t pixels,
                        const float* bias, float* to) {
#pragma omp parallel for if (images * channels * pixels >= parallel_elements)
  for (std::int64_t i = 0; i < images * channels; ++i)
    std::fill_n(to + i * pixels, pixels, bias[i % channels]);
}

/// Rounds `size` numbers to the type T.
template <class T>
void round(std::int64_t size, const float* from, T* to) {
#pragma omp parallel for simd if (parallel : size >= parallel_elements)
  for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<T>(from[i]);
}

/// Copies the row of a token to each row of its choices.
template <class T>
void gather_rows(const op::routed_gemm& o, const std::int64_t* row_of, const T* src, T* rows) {
  const std::int64_t choices = o.rows();
#pragma omp parallel for if (choices * o.k >= parallel_elements)
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
#pragma omp parallel for if (o.tokens * o.top_k * o.n >= parallel_elements)
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
