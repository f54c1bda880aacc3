// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <omp.h>

namespace layerbench::host {

/// The copy of a tensor to several, each with a run of every row: libraries have only a copy per
/// part, which would start their threads as often.
class split {
 public:
  static constexpr const char* algorithm = "layerbench:split";

  /// `run_bytes`: of a run, by part.
  split(std::int64_t rows, std::vector<std::int64_t> run_bytes)
      : rows_(rows), run_bytes_(std::move(run_bytes)) {}

  /// Each thread copies an equal part of the tensor.
  /// `part_at(i)`: the address of part i.
  template <class PartAt>
  void run(const char* from, const PartAt& part_at) const {
    std::int64_t row_bytes = 0;
    for (const std::int64_t bytes : run_bytes_) row_bytes += bytes;
    const std::int64_t total = rows_ * row_bytes;
#pragma omp parallel
    {
      constexpr std::int64_t line = 64;
      const std::int64_t threads = omp_get_num_threads();
      const std::int64_t share = (total / threads / line + 1) * line;
      const std::int64_t begin = std::min(total, omp_get_thread_num() * share);
      const std::int64_t end = std::min(total, begin + share);
      std::int64_t row = begin / row_bytes;
      for (std::int64_t first = row * row_bytes; first < end; first += row_bytes, ++row) {
        std::int64_t run = first;
        for (std::size_t i = 0; i < run_bytes_.size(); run += run_bytes_[i], ++i) {
          const std::int64_t low = std::max(begin, run);
          const std::int64_t high = std::min(end, run + run_bytes_[i]);
          if (low >= high) continue;
          std::memcpy(part_at(i) + row * run_bytes_[i] + low - run, from + low,
                      static_cast<std::size_t>(high - low));
        }
      }
    }
  }

 private:
  std::int64_t rows_;
  std::vector<std::int64_t> run_bytes_;
};

}  // namespace layerbench::host
