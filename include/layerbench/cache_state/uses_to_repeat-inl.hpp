// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ranges>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/cache_state/uses_to_repeat.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE bool uses_to_repeat::is_recent(const operand_history& history,
                                                 std::size_t i) const {
  if (!caches_.of_model() || !history.distance) return false;
  const plan_operand& operand = plan_.operands()[i];
  const op::role role = operand.logical.role;
  if (role == op::role::destination || op::needs_values(operand.logical)) return false;
  if (role != op::role::source && operand.bytes <= small_bytes) return false;
  return caches_.is_recent(*history.distance);
}

LAYERBENCH_INLINE std::vector<repeated_use> uses_to_repeat::of(const operand_history& history,
                                                               std::size_t i, bool recent,
                                                               bool written) const {
  const plan_operand& operand = plan_.operands()[i];
  const bool repeats_all = operand.logical.role == op::role::destination;
  std::vector<repeated_use> found;
  for (const previous_use& use :
       history.uses | std::views::take(repeats_all ? history.uses.size() : 1)) {
    if (!is_needed(use, operand, recent, written)) continue;
    if (auto one = repeated(use, operand)) found.push_back(std::move(*one));
  }
  return found;
}

LAYERBENCH_INLINE std::optional<repeated_use> uses_to_repeat::of_reader(
    const operand_history& history, std::size_t i, bool written) const {
  const plan_operand& operand = plan_.operands()[i];
  if (history.uses.empty() || history.uses.front().writes) return std::nullopt;
  if (written || operand.logical.opaque || !needs_its_user(history, i)) return std::nullopt;
  return repeated(history.uses.front(), operand);
}

LAYERBENCH_INLINE setup_op uses_to_repeat::producer_of(const operand_history& history,
                                                       std::size_t i) const {
  std::unique_ptr<any_plan> plan;
  if (history.producer && !what_.copies_sources && needs_its_user(history, i)) {
    plan = plan_of(*history.producer, history.producer_pass);
  }
  if (plan) {
    const auto role = [](const plan_operand& of) { return of.logical.role; };
    const auto result = std::ranges::find(plan->operands(), op::role::destination, role);
    const auto output = static_cast<std::ptrdiff_t>(history.producer_output);
    if (result - plan->operands().begin() != output) plan.reset();
  }
  const bool last_wrote = !history.uses.empty() && history.uses.front().writes;
  return {std::move(plan), history.producer_output, plan_.operands()[i].bytes, *history.distance,
          last_wrote ? std::optional(history.uses.front().call) : std::nullopt};
}

LAYERBENCH_INLINE bool uses_to_repeat::is_needed(const previous_use& use,
                                                 const plan_operand& operand, bool recent,
                                                 bool written) const {
  if (!caches_.of_model()) return false;
  if (op::needs_values(operand.logical) || operand.logical.opaque) return false;
  const bool is_destination = operand.logical.role == op::role::destination;
  if (!is_destination && recent && use.writes) return false;  // that one runs as the producer
  if (!caches_.shared_holds_step()) return is_destination && caches_.is_recent(use.distance);
  const bool writer_matters = caches_.writer_matters();
  if (!written) return writer_matters && use.writes && !recent && operand.bytes > small_bytes;
  return writer_matters || caches_.is_recent(use.distance);
}

LAYERBENCH_INLINE std::optional<repeated_use> uses_to_repeat::repeated(
    const previous_use& use, const plan_operand& operand) const {
  const bool written = operand.logical.role == op::role::destination;
  const auto copy_of = [&](std::size_t bytes, bool user_runs) {
    return repeated_use{setup_op(nullptr, 0, bytes, use.distance), bytes, use, user_runs};
  };
  const setup_op* const known = written ? that_repeats(setup_ops_, use) : nullptr;
  std::unique_ptr<any_plan> plan;
  if (!known && (!written || caches_.user_matters(use.distance))) plan = plan_of(use.op, use.pass);
  const any_plan* const user = known ? known->plan() : plan.get();
  const auto needs_values = [&](std::size_t i) {
    return op::needs_values(user->operands()[i].logical);
  };
  if (!user || std::ranges::any_of(use.operands, needs_values)) {
    if (!written) return std::nullopt;
    return copy_of(std::min(use.bytes, operand.bytes), false);
  }
  std::size_t used = 0;
  for (const std::size_t i : use.operands) used = std::max(used, user->operands()[i].bytes);
  if (known) return copy_of(used, true);
  return repeated_use{setup_op(std::move(plan), use.operands.front(), std::min(operand.bytes, used),
                               use.distance, use.call),
                      used, use, true};
}

LAYERBENCH_INLINE bool uses_to_repeat::needs_its_user(const operand_history& history,
                                                      std::size_t i) const {
  const std::size_t nearest = caches_.nearest_bytes();
  const bool mostly_evicted = plan_.operands()[i].bytes > 8 * nearest;
  const bool cached = static_cast<std::size_t>(*history.distance) < nearest;
  return !mostly_evicted && (cached || caches_.writer_matters());
}

LAYERBENCH_INLINE std::unique_ptr<any_plan> uses_to_repeat::plan_of(const op::any& op,
                                                                    op::pass pass) const {
  plan_request request = what_.request;
  request.pass = pass;
  return plan_or_null(device_, op, request);
}

}  // namespace layerbench::run
