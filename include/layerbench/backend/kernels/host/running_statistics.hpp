// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <layerbench/op/batchnorm.hpp>

namespace layerbench::host {

inline constexpr const char* running_statistics_name = "layerbench:running_statistics";

/// The running means of c channels after a batch, or with `variances` the running variances, for
/// which those of the batch are made unbiased.
inline void update_running_statistics(const op::batchnorm& o, bool variances, const float* old,
                                      const float* of_batch, float* updated) {
  constexpr auto momentum = static_cast<float>(op::batchnorm::momentum);
  const auto elements = static_cast<float>(o.n * o.h * o.w);
  const float unbiased = elements > 1 ? elements / (elements - 1) : 1;
  const float factor = variances ? momentum * unbiased : momentum;
  for (std::int64_t c = 0; c < o.c; ++c) {
    updated[c] = (1 - momentum) * old[c] + factor * of_batch[c];
  }
}

}  // namespace layerbench::host
