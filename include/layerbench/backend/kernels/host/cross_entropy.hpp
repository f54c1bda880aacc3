// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench::host {

inline constexpr const char* cross_entropy_loss_name = "layerbench:cross_entropy_loss";
inline constexpr const char* cross_entropy_gradient_name = "layerbench:cross_entropy_gradient";

/// The mean loss of probabilities n*c and n labels.
template <class T>
[[nodiscard]] T cross_entropy_loss(const op::cross_entropy& o, const T* probabilities,
                                   const float* labels) {
  float sum = 0;
  for (std::int64_t n = 0; n < o.n; ++n) {
    const std::int64_t label = o.label_of(labels[n]);
    const auto probability = static_cast<float>(probabilities[n * o.c + label]);
    sum -= std::log(std::max(probability, op::cross_entropy::min_probability));
  }
  return static_cast<T>(sum / static_cast<float>(o.n));
}

/// The gradient n*c of the loss and of the softmax before it.
template <class T>
void cross_entropy_gradient(const op::cross_entropy& o, const T* probabilities, const float* labels,
                            T* gradient) {
  const float scale = 1 / static_cast<float>(o.n);
#pragma omp parallel for
  for (std::int64_t n = 0; n < o.n; ++n) {
    const std::int64_t first = n * o.c;
#pragma omp simd
    for (std::int64_t i = first; i < first + o.c; ++i) {
      gradient[i] = static_cast<T>(static_cast<float>(probabilities[i]) * scale);
    }
    const std::int64_t label = first + o.label_of(labels[n]);
    gradient[label] = static_cast<T>((static_cast<float>(probabilities[label]) - 1) * scale);
  }
}

}  // namespace layerbench::host
