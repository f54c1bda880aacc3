// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/formula.hpp>
#include <layerbench/backend/reference/activation.hpp>
#include <layerbench/op/post_ops.hpp>

namespace layerbench::reference {

/// Applies post-ops to element `index` of a result. The added tensors are the operands from
/// `first_addend` on.
[[nodiscard]] inline sum with_post_ops(sum result, const op::post_ops& post, tensors in,
                                       std::size_t first_addend, std::int64_t index) {
  if (post.empty()) return result;
  constexpr double rounding = 1.0 / 256;  // of bf16, the coarsest type of a result
  std::array changed{result.value * (1 - rounding), result.value * (1 + rounding)};
  for (const op::post_op p : post) {
    if (op::is_addition(p)) {
      const double addend = in[first_addend++][static_cast<std::size_t>(index)];
      result.add(addend);
      for (double& value : changed) value += addend;
      continue;
    }
    const op::activation_kind kind = op::activation_of(p);
    const double slope = steepest_slope(kind);
    const double error = approximation(kind, result.value);
    result.magnitude = slope * result.magnitude + error;
    result.squares = slope * slope * result.squares + error * error;
    result.value = activate(kind, result.value);
    for (double& value : changed) value = activate(kind, value);
  }
  for (const double value : changed) {
    result.before_post = std::max(result.before_post, std::abs(value - result.value) / rounding);
  }
  return result;
}

}  // namespace layerbench::reference
