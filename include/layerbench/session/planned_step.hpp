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
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/model/memory_reuse.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/step_layout.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/insert_reorders.hpp>
#include <layerbench/session/relative_cost.hpp>

namespace layerbench::run {

/// A case's step, and the memory that its plans need. Makes plans when they are first needed.
class planned_step {
 public:
  /// `reordered`: insert the reorders that the library's memory orders need. `reuses_memory`: let
  /// activations share memory.
  planned_step(const model::step& step, const plan_request& request,
               std::shared_ptr<device_context> context, bool reordered = false,
               bool reuses_memory = false)
      : context_(std::move(context)),
        memories_(context_->device(), request),
        step_(reordered ? with_reorders(step, memories_) : step) {
    if (reuses_memory) step_ = model::with_reused_memory(std::move(step_), planned_bytes());
  }

  [[nodiscard]] const model::step& step() const { return step_; }
  /// The step's memory without the padding that the library adds.
  [[nodiscard]] model::step_memory least_memory() const {
    return {step_, model::least_operand_bytes(request().type)};
  }

  /// A primitive in the context of this step, for an operand ring.
  [[nodiscard]] op_in_context in_context(const model::primitive& of, cache_state cache) {
    const model::call_state found = memory().most_frequent_state(of);
    op_in_context result{.request = request(),
                         .cache = cache,
                         .footprint = found.footprint,
                         .workspace = static_cast<std::int64_t>(workspace_beside(of)),
                         .shared_bytes = found.shared_bytes,
                         .share = share_of(of),
                         .step_calls = step_.calls.size(),
                         .copies_sources = context_->numbers() != number_class::normal};
    result.request.pass = of.pass;
    for (const model::operand_state& state : found.operands) {
      operand_history& history = result.operands.emplace_back();
      history.distance = state.distance;
      history.same_as = state.same_as;
      for (const model::previous_use& use : state.uses) {
        const model::call& user = step_.calls[use.call];
        history.uses.push_back({use.call, user.op, user.pass, use.operands, use.writes,
                                static_cast<std::size_t>(use.bytes), use.distance});
      }
      if (!state.writer) continue;
      const model::call& producer = step_.calls[*state.writer];
      history.producer = producer.op;
      history.producer_pass = producer.pass;
      history.producer_output = state.written_as;
    }
    return result;
  }

  /// Bytes of a chain's tensors.
  [[nodiscard]] std::size_t tensor_bytes() {
    const model::step_layout tensors(step_, [&](std::size_t i) {
      return stored_bytes(memories_.of(step_.calls[i].op, step_.calls[i].pass).operands);
    });
    return tensors.bytes;
  }
  /// Bytes that a chain allocates, with scratch memory.
  [[nodiscard]] std::size_t chain_bytes() {
    return tensor_bytes() + std::ranges::max(workspaces());
  }

  [[nodiscard]] std::unique_ptr<chain> make_chain(std::uint64_t seed) const {
    return std::make_unique<chain>(context_, step_, request(), seed);
  }

 private:
  /// Scratch memory of each call of the step; all calls share it.
  [[nodiscard]] const std::vector<std::size_t>& workspaces() {
    if (workspaces_.empty()) {
      for (const model::call& call : step_.calls)
        workspaces_.push_back(memories_.of(call.op, call.pass).workspace_bytes);
    }
    return workspaces_;
  }

  /// The most scratch memory of a call of another primitive.
  [[nodiscard]] std::size_t workspace_beside(const model::primitive& of) {
    std::size_t most = 0;
    for (std::size_t i = 0; i < workspaces().size(); ++i) {
      const bool own = std::ranges::find(of.calls, i) != of.calls.end();
      if (!own) most = std::max(most, workspaces()[i]);
    }
    return most;
  }

  /// Estimated share of the step's time.
  [[nodiscard]] double share_of(const model::primitive& of) {
    const auto cost = [&](const model::call& call) {
      return relative_cost(call.op, call.pass, request().type);
    };
    if (step_cost_ == 0) {
      for (const model::call& call : step_.calls) step_cost_ += cost(call);
    }
    double own = 0;
    for (const std::size_t call : of.calls) own += cost(step_.calls[call]);
    return own / step_cost_;
  }

  [[nodiscard]] const plan_request& request() const { return memories_.request(); }

  const model::step_memory& memory() {
    if (!step_memory_) {
      step_memory_.emplace(step_, planned_bytes());
    }
    return *step_memory_;
  }

  /// Bytes that the plans of calls touch. An op without a plan has no padding.
  [[nodiscard]] model::operand_bytes planned_bytes() {
    return [this](const op::any& op, op::pass pass) {
      std::vector<std::int64_t> bytes;
      for (const plan_operand& operand : memories_.of(op, pass).operands) {
        bytes.push_back(static_cast<std::int64_t>(operand.touched_bytes()));
      }
      return bytes.empty() ? model::least_operand_bytes(request().type)(op, pass) : bytes;
    };
  }

  std::shared_ptr<device_context> context_;
  plan_memories memories_;
  model::step step_;
  std::optional<model::step_memory> step_memory_;
  std::vector<std::size_t> workspaces_;  ///< by call; empty: not yet known
  double step_cost_ = 0;
};

}  // namespace layerbench::run
