// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/model/reuse.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/reorders.hpp>

namespace layerbench::run {

/// A case's step, and its memory as the backend lays it out, with its padding: worked out when
/// first asked for, since that takes plans.
class planned_step {
 public:
  /// `reordered`: with the reorders that the step needs.
  planned_step(const model::step& step, const plan_request& request,
               std::shared_ptr<device_context> memory, bool reordered = false)
      : memory_(std::move(memory)),
        planned_(memory_->device(), request),
        step_(reordered ? with_reorders(step, planned_) : step) {}

  [[nodiscard]] const model::step& step() const { return step_; }
  /// Without padding.
  [[nodiscard]] model::step_memory least_memory() const {
    return {step_, model::least_operand_bytes(request().type)};
  }

  /// How the operands of a primitive lie in the model.
  [[nodiscard]] op_in_context around(const model::primitive& of, cache_state cache) {
    const model::call_context found = memory().usual(of);
    op_in_context result{.request = request(),
                         .cache = cache,
                         .footprint = found.footprint,
                         .share = share_of(of),
                         .calls = step_.calls.size()};
    result.request.pass = of.pass;
    for (const model::operand_state& operand : found.operands) {
      operand_history& from = result.operands.emplace_back();
      from.distance = operand.distance;
      from.same_as = operand.same_as;
      if (operand.used) {
        const model::call& user = step_.calls[operand.used->call];
        from.used = {user.op, user.pass, operand.used->operands, operand.used->writes,
                     operand.used->distance};
      }
      if (!operand.writer) continue;
      const model::call& writer = step_.calls[*operand.writer];
      from.producer = writer.op;
      from.pass = writer.pass;
      from.output = operand.written_as;
      for (const model::operand_state& its : memory().around(*operand.writer).operands) {
        const bool is_output = from.before.size() == from.output;
        if (is_output && its.same_as) from.over = its.same_as;
        from.before.push_back(its.role == op::role::source ? its.distance : std::nullopt);
      }
    }
    return result;
  }

  /// Bytes of memory that a chain takes.
  [[nodiscard]] std::size_t chain_bytes() {
    std::size_t workspace = 0;
    const step_layout tensors(step_, [&](std::size_t i) -> auto& {
      const planned_memory& its = planned_.of(step_.calls[i].op, step_.calls[i].pass);
      workspace = std::max(workspace, its.workspace_bytes);
      return its.operands;
    });
    return tensors.bytes + workspace;
  }

  [[nodiscard]] std::unique_ptr<chain> make_chain(std::uint64_t seed) const {
    return std::make_unique<chain>(memory_, step_, request(), seed);
  }

 private:
  /// Share of the step's time, as if 8 operations took as long as a byte: what bounds most layers
  /// of a core.
  [[nodiscard]] double share_of(const model::primitive& of) {
    const auto cost = [&](const model::call& element) {
      constexpr double operations_a_byte = 8;
      const auto bytes = op::least_bytes(element.op.operands(element.pass, request().type));
      return static_cast<double>(element.op.work(element.pass).flops) / operations_a_byte +
             static_cast<double>(bytes);
    };
    if (step_cost_ == 0) {
      for (const model::call& item : step_.calls) step_cost_ += cost(item);
    }
    double own = 0;
    for (const std::size_t call : of.calls) own += cost(step_.calls[call]);
    return own / step_cost_;
  }

  [[nodiscard]] const plan_request& request() const { return planned_.request(); }

  const model::step_memory& memory() {
    if (!laid_out_) {
      laid_out_.emplace(step_, [&](const op::any& op, op::pass pass) {
        std::vector<std::int64_t> bytes;
        for (const plan_operand& operand : planned_.of(op, pass).operands) {
          bytes.push_back(static_cast<std::int64_t>(operand.bytes));
        }
        // Without padding where there is no plan.
        return bytes.empty() ? model::least_operand_bytes(request().type)(op, pass) : bytes;
      });
    }
    return *laid_out_;
  }

  std::shared_ptr<device_context> memory_;
  planned_calls planned_;
  model::step step_;
  std::optional<model::step_memory> laid_out_;
  double step_cost_ = 0;
};

}  // namespace layerbench::run
