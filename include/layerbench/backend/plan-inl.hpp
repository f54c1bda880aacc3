// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <layerbench/backend/plan.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE std::optional<std::int64_t> first_non_finite(std::span<const float> values) {
  const auto found = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (found == values.end()) return std::nullopt;
  return found - values.begin();
}

LAYERBENCH_INLINE void any_plan::draw(std::size_t operand, const test_data& data,
                                      address to) const {
  upload(operand, random_values(data), to);
}

LAYERBENCH_INLINE std::optional<std::int64_t> any_plan::first_non_finite(std::size_t operand,
                                                                         address from) const {
  return run::first_non_finite(downloaded(operand, from));
}

LAYERBENCH_INLINE std::optional<std::int64_t> any_plan::first_difference(std::size_t operand,
                                                                         address a,
                                                                         address b) const {
  const std::vector<float> first = downloaded(operand, a);
  const std::vector<float> second = downloaded(operand, b);
  const auto found = std::ranges::mismatch(first, second).in1;
  if (found == first.end()) return std::nullopt;
  return found - first.begin();
}

LAYERBENCH_INLINE std::vector<float> any_plan::gather(std::size_t operand, address from,
                                                      std::span<const std::int64_t> indices) const {
  const std::vector<float> all = downloaded(operand, from);
  std::vector<float> values;
  for (const std::int64_t i : indices) values.push_back(all[static_cast<std::size_t>(i)]);
  return values;
}

LAYERBENCH_INLINE std::vector<float> any_plan::downloaded(std::size_t operand, address from) const {
  std::vector<float> values(
      static_cast<std::size_t>(elements(operands()[operand].logical.extents)));
  download(operand, from, values);
  return values;
}

LAYERBENCH_INLINE std::optional<std::size_t> overwritten_by(const any_plan& plan, std::size_t i) {
  const std::vector<plan_operand>& operands = plan.operands();
  if (operands[i].logical.role != op::role::destination) return std::nullopt;
  const std::size_t found = op::overwritten_source(operands, &plan_operand::logical);
  return found < operands.size() ? std::optional(found) : std::nullopt;
}

LAYERBENCH_INLINE void write(const any_plan& plan, std::size_t operand,
                             const reference::tensor& values, address to) {
  if (values.drawn() != nullptr) {
    plan.draw(operand, *values.drawn(), to);
  } else {
    plan.upload(operand, values.memory(), to);
  }
}

}  // namespace layerbench::run
