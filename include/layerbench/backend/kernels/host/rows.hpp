// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

/// What a matrix product has before and behind it where a library computes only the product in f32.
namespace layerbench::host {

inline constexpr const char* bias_rows_name = "layerbench:bias_rows";
inline constexpr const char* bias_images_name = "layerbench:bias_images";
inline constexpr const char* round_name = "layerbench:round";

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

}  // namespace layerbench::host
