// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/formula.hpp>
#include <layerbench/backend/forward_results.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE void fill_own_operands(compute_device& device, const any_plan& plan,
                                         const std::vector<ring_position>& positions,
                                         buffer_kind kind, std::byte* slot, std::uint64_t seed,
                                         number_class numbers) {
  std::vector<address> opaque(positions.size(), nullptr);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const op::operand& operand = plan.operands()[i].logical;
    if (positions[i].kind != kind || operand.role == op::role::destination) continue;
    address to = slot + positions[i].offset;
    if (operand.opaque) {
      opaque[i] = to;
    } else {
      plan.draw(i, timed_data(operand, operand_seed(seed, i), numbers), to);
    }
  }
  std::vector<reference::tensor> inputs(positions.size());
  write_forward_results(device, plan, inputs, opaque, seed);
}

LAYERBENCH_INLINE setup_op::setup_op(std::unique_ptr<any_plan> plan, std::size_t output,
                                     std::size_t bytes, std::int64_t distance,
                                     std::optional<std::size_t> repeated)
    : plan_(std::move(plan)),
      output_(output),
      bytes_(bytes),
      distance_(distance),
      repeated_(repeated) {}

LAYERBENCH_INLINE std::size_t setup_op::written_bytes() const {
  return plan_ ? std::max(bytes_, plan_->operands()[output_].bytes) : bytes_;
}

LAYERBENCH_INLINE bool setup_op::repeats(const previous_use& use) const {
  return plan_ && repeated_ == use.call;
}

LAYERBENCH_INLINE std::size_t setup_op::reserve(ring_buffers& rings) {
  if (!plan_) {
    positions_ = {rings.add(buffer_kind::constants, bytes_), placed_.at(output_)};
    return bytes_;
  }
  std::map<std::size_t, ring_position> known = placed_;
  std::size_t reserved = 0;
  for (std::size_t i = 0; i < plan_->operands().size(); ++i) {
    const auto source = overwritten_by(*plan_, i);
    if (!source) continue;
    if (!known.contains(i) && !known.contains(*source)) {
      known.emplace(i, rings.add(buffer_kind::activations, plan_->operands()[i].bytes));
      reserved += plan_->operands()[i].bytes;
    }
    const ring_position shared = known.contains(i) ? known.at(i) : known.at(*source);
    known.emplace(i, shared);
    known.emplace(*source, shared);
  }
  for (const plan_operand& operand : plan_->operands()) {
    const auto found = known.find(positions_.size());
    if (found != known.end()) {
      positions_.push_back(found->second);
      continue;
    }
    const bool written = operand.logical.role == op::role::destination;
    const buffer_kind unwritten =
        op::needs_values(operand.logical) ? own_kind(operand.logical) : buffer_kind::constants;
    positions_.push_back(rings.add(written ? buffer_kind::activations : unwritten, operand.bytes));
    reserved += operand.bytes;
  }
  return reserved;
}

LAYERBENCH_INLINE void setup_op::fill_own(device_context& context, buffer_kind kind,
                                          std::byte* slot, std::uint64_t seed) const {
  if (!plan_) return;
  fill_own_operands(context.device(), *plan_, positions_, kind, slot, seed, context.numbers());
}

LAYERBENCH_INLINE void setup_op::set_lead(std::int64_t calls, double fraction) {
  lead_ = calls;
  lead_fraction_ = fraction;
}

LAYERBENCH_INLINE void setup_op::run(device_context& context, const ring_buffers& rings,
                                     std::int64_t call) {
  const std::vector<address> places = rings.at(positions_, call + lead_);
  if (!plan_) {
    context.device().copy(places[1], places[0], bytes_);
    return;
  }
  if (bound_) {
    bound_->place(places);
  } else {
    workspace_ = context.workspace(plan_->workspace_bytes());
    bound_ = plan_->bound_to(places, workspace_->data());
  }
  bound_->run();
}

}  // namespace layerbench::run
