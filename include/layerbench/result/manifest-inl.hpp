// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/base/compiled.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/result/manifest.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE planned planned_of(const model::primitive& primitive) {
  planned result{primitive.layer,
                 std::string(primitive.op.name()),
                 std::string(op::name(primitive.pass)),
                 primitive.op.key(),
                 primitive.count(),
                 primitive.inserted};
  result.part = primitive.part;
  result.layers = primitive.layers;
  return result;
}

LAYERBENCH_INLINE planned planned_of(const model::primitive& primitive,
                                     const model::call_state& state, dtype type) {
  planned result = planned_of(primitive);
  result.state = state.signature();
  const std::vector<op::operand> operands = primitive.op.operands(primitive.pass, type);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (std::ranges::find(state.operands, std::optional(i), &model::operand_state::same_as) !=
        state.operands.end()) {
      continue;
    }
    result.traffic.push_back({op::least_bytes({operands[i]}),
                              state.operands.at(i).distance.value_or(state.footprint),
                              operands[i].role == op::role::destination});
  }
  return result;
}

LAYERBENCH_INLINE std::vector<planned>& manifest::operator[](
    const configuration_name& configuration) {
  const auto found = std::ranges::find(items_, configuration, &entry::first);
  if (found != items_.end()) return found->second;
  return items_.emplace_back(configuration, std::vector<planned>{}).second;
}

LAYERBENCH_INLINE void manifest::erase(const configuration_name& configuration) {
  std::erase_if(items_, [&](const entry& known) { return known.first == configuration; });
}

LAYERBENCH_INLINE void manifest::merge(const manifest& other) {
  for (const entry& added : other) {
    std::vector<planned>& step = (*this)[added.first];
    if (step.empty()) step = added.second;
    for (std::size_t i = 0; i < step.size() && step.size() == added.second.size(); ++i) {
      if (!step[i].chain_seconds) step[i].chain_seconds = added.second[i].chain_seconds;
    }
  }
}

}  // namespace layerbench::result
