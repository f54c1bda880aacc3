// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <omp.h>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/op/multiply.hpp>

namespace layerbench::host {

/// Both gradients of a product by one loop: libraries would need three calls, and memory between
/// them. All operands lie in one order, without padding.
class multiply_gradient {
 public:
  static constexpr const char* algorithm = "layerbench:multiply_gradient";

  /// `steps` and `steps1`: strides of src and src1, in elements.
  multiply_gradient(const op::multiply& o, const dims& steps, const dims& steps1) {
    std::vector<std::size_t> axes(o.dims.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::erase_if(axes, [&](std::size_t axis) { return o.dims[axis] == 1; });
    std::ranges::sort(axes, std::ranges::greater{}, [&](std::size_t axis) { return steps[axis]; });
    // Neighbours in memory that are broadcast alike are one run.
    while (!axes.empty()) {
      const std::size_t axis = axes.back();
      if (run_ > 1 && o.is_broadcast(axis) != sums_run_) break;
      sums_run_ = o.is_broadcast(axis);
      run_ *= o.dims[axis];
      axes.pop_back();
    }
    for (const std::size_t axis : axes) {
      (o.is_broadcast(axis) ? summed_ : kept_).add(o.dims[axis], steps[axis], steps1[axis]);
    }
  }

  template <class T>
  void run(const T* src, const T* src1, const T* diff_dst, T* diff_src, T* diff_src1) const {
    differentiate(tensors<T>{src, src1, diff_dst, diff_src, diff_src1});
  }

 private:
  template <class T>
  struct tensors {
    const T *src, *src1, *diff_dst;
    T *diff_src, *diff_src1;
  };

  /// Nested loops over some of the axes, outermost first.
  struct loops {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> steps;   ///< in src
    std::vector<std::int64_t> steps1;  ///< in src1

    void add(std::int64_t count, std::int64_t step, std::int64_t step1) {
      counts.push_back(count);
      steps.push_back(step);
      steps1.push_back(step1);
    }
    [[nodiscard]] std::int64_t size() const { return elements(counts); }
    [[nodiscard]] static std::int64_t place(std::int64_t i, const dims& counts, const dims& steps) {
      std::int64_t sum = 0;
      for (std::size_t j = counts.size(); j-- > 0; i /= counts[j]) sum += i % counts[j] * steps[j];
      return sum;
    }
    [[nodiscard]] std::int64_t place(std::int64_t i) const { return place(i, counts, steps); }
    [[nodiscard]] std::int64_t place1(std::int64_t i) const { return place(i, counts, steps1); }
  };

  static constexpr std::int64_t most = 1024;  ///< elements of a piece of a run

  template <class T>
  void differentiate(const tensors<T>& all) const {
    const std::int64_t kept = kept_.size();
    // Runs that are not summed are cut, so that there is work for each thread.
    constexpr std::int64_t line = 64;
    const std::int64_t share = (run_ / omp_get_max_threads() / line + 1) * line;
    const std::int64_t length = sums_run_ ? run_ : std::min(share, most);
    const std::int64_t pieces = ceil_div(run_, length);
#pragma omp parallel for
    for (std::int64_t i = 0; i < kept * pieces; ++i) {
      const std::int64_t first = i % pieces * length;
      const std::int64_t count = std::min(length, run_ - first);
      if (sums_run_) {
        summed_run(all, i / pieces);
      } else {
        kept_run(all, i / pieces, first, count);
      }
    }
  }

  /// A run of one factor.
  template <class T>
  void summed_run(const tensors<T>& all, std::int64_t kept) const {
    const std::int64_t place1 = kept_.place1(kept);
    const auto factor = static_cast<float>(all.src1[place1]);
    float sum = 0;
    for (std::int64_t j = 0; j < summed_.size(); ++j) {
      const std::int64_t place = kept_.place(kept) + summed_.place(j);
      const T* src = all.src + place;
      const T* diff_dst = all.diff_dst + place;
      T* diff_src = all.diff_src + place;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < run_; ++k) {
        const auto gradient = static_cast<float>(diff_dst[k]);
        sum += gradient * static_cast<float>(src[k]);
        diff_src[k] = static_cast<T>(gradient * factor);
      }
    }
    all.diff_src1[place1] = static_cast<T>(sum);
  }

  /// `count` elements of a run, each with a factor of its own.
  template <class T>
  void kept_run(const tensors<T>& all, std::int64_t kept, std::int64_t first,
                std::int64_t count) const {
    std::array<float, most> sums{};
    const std::int64_t place1 = kept_.place1(kept) + first;
    const T* src1 = all.src1 + place1;
    for (std::int64_t j = 0; j < summed_.size(); ++j) {
      const std::int64_t place = kept_.place(kept) + summed_.place(j) + first;
      const T* src = all.src + place;
      const T* diff_dst = all.diff_dst + place;
      T* diff_src = all.diff_src + place;
      float* sum = sums.data();
#pragma omp simd
      for (std::int64_t k = 0; k < count; ++k) {
        const auto gradient = static_cast<float>(diff_dst[k]);
        sum[k] += gradient * static_cast<float>(src[k]);
        diff_src[k] = static_cast<T>(gradient * static_cast<float>(src1[k]));
      }
    }
    T* diff_src1 = all.diff_src1 + place1;
    for (std::int64_t k = 0; k < count; ++k) {
      diff_src1[k] = static_cast<T>(sums[static_cast<std::size_t>(k)]);
    }
  }

  loops kept_;            ///< over the axes outside of a run that src1 has
  loops summed_;          ///< over those that it is broadcast along
  std::int64_t run_ = 1;  ///< elements of a run
  bool sums_run_ = false;
};

}  // namespace layerbench::host
