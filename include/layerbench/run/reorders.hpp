// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/run/device.hpp>

namespace layerbench::run {

/// What the plans of ops read and write; each is made once, for a look at it.
class planned_operands {
 public:
  planned_operands(device& here, const plan_request& request) : here_(here), request_(request) {}

  /// Nothing where the device has no plan: measuring it will say so.
  [[nodiscard]] const std::vector<plan_operand>& of(const op::any& op) {
    const auto [known, is_new] = known_.try_emplace(fmt::format("{}/{}", op.name(), op.key()));
    if (is_new) {
      if (const auto plan = plan_or_null(here_, op, request_)) known->second = plan->operands();
    }
    return known->second;
  }

  /// Those of one role, in operand order.
  [[nodiscard]] std::vector<plan_operand> of(const op::any& op, op::role role) {
    std::vector<plan_operand> operands = of(op);
    std::erase_if(operands, [&](const plan_operand& each) { return each.logical.role != role; });
    return operands;
  }

 private:
  device& here_;
  plan_request request_;
  std::map<std::string, std::vector<plan_operand>> known_;
};

/// The graph with the reorders that it needs where the library chose the memory orders: whenever a
/// layer reads its source in another order than its producer wrote it. The model's own input comes
/// as nhwc. Fully connected layers read images as they lie: their weights are stored to match.
[[nodiscard]] inline model::graph with_reorders(const model::graph& graph, device& here,
                                                const plan_request& request) {
  planned_operands planned(here, request);
  model::graph made = graph;
  made.layers.clear();
  std::vector<std::size_t> place;  // of the graph's layers in `made`
  for (const model::layer& each : graph.layers) {
    model::layer layer = each;
    const std::vector<plan_operand> sources = planned.of(each.op, op::role::source);
    for (std::size_t j = 0; j < layer.inputs.size(); ++j) {
      std::size_t& input = layer.inputs[j];
      const bool outside = input == model::model_input;
      if (!outside) input = place[input];
      if (j >= sources.size()) continue;
      const dims& extents = sources[j].logical.extents;
      std::string written = extents.size() == 4 ? "acdb" : sources[j].order;
      if (!outside) {
        const auto from = planned.of(made.layers[input].op, op::role::destination);
        if (from.empty() || from.front().logical.extents != extents) continue;
        written = from.front().order;
      }
      if (written == sources[j].order) continue;
      made.layers.push_back({fmt::format("{}_{}_reorder", layer.name, sources[j].logical.name),
                             op::any(op::reorder{extents, written, sources[j].order}),
                             {input},
                             true});
      input = made.layers.size() - 1;
    }
    place.push_back(made.layers.size());
    made.layers.push_back(std::move(layer));
  }
  return made;
}

}  // namespace layerbench::run
