// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/reuse.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/reorders.hpp>
#include <layerbench/run/rotation.hpp>

namespace layerbench::run {

/// A case's model, and the memory of its step as the backend lays it out, with its padding: worked
/// out when first asked for, since that takes plans.
class planned_step {
 public:
  planned_step(model::graph graph, const plan_request& request,
               std::set<std::string, std::less<>> in_place, std::shared_ptr<arena> memory)
      : graph_(std::move(graph)),
        request_(request),
        in_place_(std::move(in_place)),
        memory_(std::move(memory)) {}

  [[nodiscard]] const model::graph& graph() const { return graph_; }
  [[nodiscard]] model::step_memory least_memory() const {
    return {graph_, request_.type, in_place_};
  }

  /// How the operands of a primitive lie in the model.
  [[nodiscard]] surrounded_op around(const model::primitive& of, cache_state cache) {
    const model::surroundings found = memory().usual(of);
    surrounded_op made{.request = request_,
                       .cache = cache,
                       .footprint = found.footprint,
                       .sources = {},
                       .in_place = found.in_place};
    for (const model::input_state& input : found.inputs) {
      const bool outside = input.producer == model::model_input;
      made.sources.push_back(
          {outside ? std::nullopt : std::optional(graph_.layers[input.producer].op), input.distance,
           !outside && memory().in_place(input.producer)});
    }
    return made;
  }

  [[nodiscard]] std::unique_ptr<chain> make_chain(std::uint64_t seed) {
    return std::make_unique<chain>(memory_, graph_, memory(), request_, seed);
  }

 private:
  const model::step_memory& memory() {
    if (!laid_out_) {
      planned_operands planned(memory_->here(), request_);
      laid_out_.emplace(graph_, request_.type, in_place_, [&](const op::any& op) {
        std::vector<std::int64_t> bytes;
        for (const plan_operand& each : planned.of(op)) {
          bytes.push_back(static_cast<std::int64_t>(each.bytes));
        }
        // Without padding where there is no plan.
        return bytes.empty() ? model::least_operand_bytes(request_.type)(op) : bytes;
      });
    }
    return *laid_out_;
  }

  model::graph graph_;
  plan_request request_;
  std::set<std::string, std::less<>> in_place_;
  std::shared_ptr<arena> memory_;
  std::optional<model::step_memory> laid_out_;
};

}  // namespace layerbench::run
