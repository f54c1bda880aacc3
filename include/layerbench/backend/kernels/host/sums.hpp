// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/number_types.hpp>

/// Sums in single precision of which libraries have none, or only slow ones. Each thread has some
/// of the results, so that no two write to the same element.
namespace layerbench::host {

inline constexpr const char* column_sums_name = "layerbench:column_sums";
inline constexpr const char* head_sums_name = "layerbench:head_sums";

/// The sums over the rows of a row-major matrix rows*columns, by blocks of columns.
template <std::int64_t Block = 64, class T>
void column_sums(std::int64_t rows, std::int64_t columns, const T* matrix, T* results) {
#pragma omp parallel for
  for (std::int64_t first = 0; first < columns; first += Block) {
    std::array<float, static_cast<std::size_t>(Block)> sums{};
    float* sum = sums.data();
    const std::int64_t count = std::min(Block, columns - first);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* values = matrix + row * columns + first;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) sum[i] += static_cast<float>(values[i]);
    }
    for (std::int64_t i = 0; i < count; ++i) results[first + i] = static_cast<T>(sum[i]);
  }
}

/// The sums over the `group_size` matrices rows*d of each of the groups of n sequences, which lie
/// as n*groups*group_size*rows*d; the results as n*rows*groups*d.
template <class T>
void head_sums(std::int64_t n, std::int64_t groups, std::int64_t group_size, std::int64_t rows,
               std::int64_t d, const float* heads, T* results) {
  const std::int64_t matrix = rows * d;
#pragma omp parallel for
  for (std::int64_t i = 0; i < n * rows * groups; ++i) {
    const std::int64_t sequence = i / (rows * groups);
    const std::int64_t row = i / groups % rows;
    const std::int64_t group = i % groups;
    const float* first = heads + (sequence * groups + group) * group_size * matrix + row * d;
    T* to = results + i * d;
#pragma omp simd
    for (std::int64_t j = 0; j < d; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < group_size; ++k) sum += first[k * matrix + j];
      to[j] = static_cast<T>(sum);
    }
  }
}

}  // namespace layerbench::host
