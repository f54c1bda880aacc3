// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::model {

/// Totals of a model at its batch size, by the conventions of docs/formats.md.
struct totals {
  /// Learned values, without running statistics; those of two layers count once.
  std::int64_t parameters = 0;
  std::int64_t macs = 0;  ///< multiply-accumulates of one step
  std::int64_t conv_layers = 0;
  std::int64_t unique_conv_shapes = 0;  ///< distinct sizes; the bias does not count
  std::int64_t activations = 0;         ///< elements of results that do not overwrite a source
};

[[nodiscard]] inline totals count(const graph& g) {
  totals sum;
  std::set<std::string> shapes;
  for (const layer& next : g.layers) {
    if (!next.op.has(op::pass::fwd)) continue;
    sum.macs = checked_add(sum.macs, next.op.work(op::pass::fwd).macs);
    bool has_these = !next.weights_of.empty();
    for (const op::operand& operand : next.op.operands(op::pass::fwd, dtype::f32)) {
      const std::int64_t size = elements(operand.extents);
      if (operand.role == op::role::weights && !has_these) {
        sum.parameters = checked_add(sum.parameters, size);
      }
      if (operand.role == op::role::weights) has_these = false;  // another operand, such as a bias
      if (operand.role == op::role::destination && !next.op.overwrites_source()) {
        sum.activations = checked_add(sum.activations, size);
      }
    }
    if (const auto* conv = next.op.get<op::conv>()) {
      ++sum.conv_layers;
      op::conv shape = *conv;
      shape.bias = false;
      shapes.insert(key(shape));
    }
  }
  sum.unique_conv_shapes = static_cast<std::int64_t>(shapes.size());
  return sum;
}

}  // namespace layerbench::model
