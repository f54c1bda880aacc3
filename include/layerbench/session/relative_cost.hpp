// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::run {

/// The cost of a call relative to others, before any is timed: the bytes that it moves, and its
/// FLOPs at 8 per byte, the balance of one core. Not a time.
[[nodiscard]] inline double relative_cost(const op::any& op, op::pass pass, dtype type) {
  constexpr double operations_per_byte = 8;
  return static_cast<double>(op.work(pass).flops) / operations_per_byte +
         static_cast<double>(op::least_bytes(op.operands(pass, type)));
}

}  // namespace layerbench::run
