// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/model/reuse.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/reorders.hpp>
#include <layerbench/run/rotation.hpp>

namespace layerbench::run {

/// A case's step, and its memory as the backend lays it out, with its padding: worked out when
/// first asked for, since that takes plans.
class planned_step {
 public:
  planned_step(model::step step, const plan_request& request, std::shared_ptr<arena> memory)
      : step_(std::move(step)), request_(request), memory_(std::move(memory)) {}

  [[nodiscard]] const model::step& step() const { return step_; }
  /// Without padding.
  [[nodiscard]] model::step_memory least_memory() const {
    return {step_, model::least_operand_bytes(request_.type)};
  }

  /// How the operands of a primitive lie in the model.
  [[nodiscard]] surrounded_op around(const model::primitive& of, cache_state cache) {
    const model::surroundings found = memory().usual(of);
    surrounded_op made{.request = request_,
                       .cache = cache,
                       .footprint = found.footprint,
                       .calls = step_.calls.size()};
    made.request.pass = of.pass;
    for (const model::operand_state& each : found.operands) {
      origin& from = made.operands.emplace_back();
      from.distance = each.distance;
      from.same_as = each.same_as;
      if (!each.writer) continue;
      const model::call& writer = step_.calls[*each.writer];
      from.producer = writer.op;
      from.pass = writer.pass;
      from.output = each.written_as;
      for (const model::operand_state& its : memory().around(*each.writer).operands) {
        const bool is_output = from.before.size() == from.output;
        if (is_output && its.same_as) from.over = its.same_as;
        from.before.push_back(its.role == op::role::source ? its.distance : std::nullopt);
      }
    }
    return made;
  }

  [[nodiscard]] std::unique_ptr<chain> make_chain(std::uint64_t seed) const {
    return std::make_unique<chain>(memory_, step_, request_, seed);
  }

 private:
  const model::step_memory& memory() {
    if (!laid_out_) {
      planned_operands planned(memory_->here(), request_);
      laid_out_.emplace(step_, [&](const op::any& op, op::pass pass) {
        std::vector<std::int64_t> bytes;
        for (const plan_operand& each : planned.of(op, pass)) {
          bytes.push_back(static_cast<std::int64_t>(each.bytes));
        }
        // Without padding where there is no plan.
        return bytes.empty() ? model::least_operand_bytes(request_.type)(op, pass) : bytes;
      });
    }
    return *laid_out_;
  }

  model::step step_;
  plan_request request_;
  std::shared_ptr<arena> memory_;
  std::optional<model::step_memory> laid_out_;
};

}  // namespace layerbench::run
