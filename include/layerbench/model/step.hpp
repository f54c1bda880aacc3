// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>

namespace layerbench::model {

/// One distinct piece of work of a step, and the layers that do it.
struct primitive {
  std::string layer;  ///< the first, in graph order, of those that share the work
  op::any op;
  op::pass pass;
  std::vector<std::size_t> layers;  ///< all of those, by their position in the graph

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(layers.size()); }
};

/// The distinct primitives of one inference step in graph order.
[[nodiscard]] inline std::vector<primitive> inference_step(const graph& g) {
  constexpr auto pass = op::pass::fwd;
  std::vector<primitive> distinct;
  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < g.layers.size(); ++i) {
    const layer& each = g.layers[i];
    const std::string work = fmt::format("{}/{}/{}", each.op.name(), name(pass), each.op.key());
    const auto [known, is_new] = position.try_emplace(work, distinct.size());
    if (is_new) distinct.push_back({each.name, each.op, pass, {}});
    distinct[known->second].layers.push_back(i);
  }
  return distinct;
}

/// Totals of a model at its batch size, by the conventions of docs/formats.md.
struct totals {
  std::int64_t parameters = 0;  ///< learned values; running statistics are not
  std::int64_t macs = 0;        ///< multiply-accumulates of one step
  std::int64_t conv_layers = 0;
  std::int64_t unique_conv_shapes = 0;  ///< distinct sizes, a bias or none being the same
  std::int64_t activations = 0;         ///< elements written by layers that do not work in place
};

[[nodiscard]] inline totals count(const graph& g) {
  totals sum;
  std::set<std::string> shapes;
  for (const layer& each : g.layers) {
    sum.macs += each.op.work(op::pass::fwd).macs;
    for (const op::operand& operand : each.op.operands(op::pass::fwd, dtype::f32)) {
      const std::int64_t size = elements(operand.extents);
      if (operand.role == op::role::weights) sum.parameters += size;
      if (operand.role == op::role::destination && each.op.storage() == op::storage::own) {
        sum.activations += size;
      }
    }
    if (const auto* conv = each.op.get<op::conv>()) {
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
