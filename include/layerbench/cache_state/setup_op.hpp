// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/forward_results.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/number_class.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

/// Writes test data of a class to those of a plan's operands that lie in the row's own memory, in
/// the slot that begins at `own_slot`; to opaque ones what a forward pass writes for test data.
inline void fill_own_operands(compute_device& device, const any_plan& plan,
                              const std::vector<slice>& slices, std::byte* own_slot,
                              std::uint64_t seed, number_class numbers) {
  std::vector<address> opaque(slices.size(), nullptr);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const op::operand& operand = plan.operands()[i].logical;
    if (slices[i].kind != buffer_kind::own || operand.role == op::role::destination) continue;
    address to = own_slot + slices[i].offset;
    if (operand.opaque) {
      opaque[i] = to;
    } else {
      plan.draw(i, timed_data(operand, operand_seed(seed, i), numbers), to);
    }
  }
  std::vector<reference::tensor> inputs(slices.size());
  write_forward_results(device, plan, inputs, opaque, seed);
}

/// An untimed op that writes, or reads, memory of a call's slot before the call. It is the op that
/// does so in the model, where there is a plan for it, so that the memory lies in the same caches
/// as in the model; else a copy.
class setup_op {
 public:
  /// Distance of an op that runs before all others.
  static constexpr std::int64_t max_distance = INT64_MAX;

  /// A null plan copies `bytes`. `output` is the plan's operand that the call uses, the first
  /// `bytes` of it; `distance` is how many bytes the step touches between this op and the call, and
  /// `repeated` the position in the step of the call that it repeats, if any.
  setup_op(std::unique_ptr<any_plan> plan, std::size_t output, std::size_t bytes,
           std::int64_t distance, std::optional<std::size_t> repeated = {})
      : plan_(std::move(plan)),
        output_(output),
        bytes_(bytes),
        distance_(distance),
        repeated_(repeated) {}

  /// Null: the op is a copy.
  [[nodiscard]] const any_plan* plan() const { return plan_.get(); }

  /// Bytes of the call's memory that it uses.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t distance() const { return distance_; }
  [[nodiscard]] bool runs_first() const { return distance_ == max_distance; }

  /// Bytes that it writes for the call, which may use only some of them.
  [[nodiscard]] std::size_t written_bytes() const {
    return plan_ ? std::max(bytes_, plan_->operands()[output_].bytes) : bytes_;
  }

  /// Whether it runs the op of the call that made this use.
  [[nodiscard]] bool repeats(const previous_use& use) const {
    return plan_ && repeated_ == use.call;
  }

  /// Sets where an operand lies in the call's slot, unless it was set before.
  void place(std::size_t operand, slice at) { placed_.emplace(operand, at); }
  void place_output(slice at) { place(output_, at); }

  /// Reserves memory in `rings` for the operands that have no place. The output must have one.
  /// Nobody writes the reserved sources. Returns the bytes reserved.
  std::size_t reserve(ring_buffers& rings) {
    if (!plan_) {
      slices_ = {rings.add(buffer_kind::constants, bytes_), placed_.at(output_)};
      return bytes_;
    }
    std::map<std::size_t, slice> known = placed_;
    std::size_t reserved = 0;
    for (std::size_t i = 0; i < plan_->operands().size(); ++i) {
      const auto source = overwritten_by(*plan_, i);
      if (!source) continue;
      if (!known.contains(i) && !known.contains(*source)) {
        known.emplace(i, rings.add(buffer_kind::activations, plan_->operands()[i].bytes));
        reserved += plan_->operands()[i].bytes;
      }
      const slice shared = known.contains(i) ? known.at(i) : known.at(*source);
      known.emplace(i, shared);
      known.emplace(*source, shared);
    }
    for (const plan_operand& operand : plan_->operands()) {
      const auto found = known.find(slices_.size());
      if (found != known.end()) {
        slices_.push_back(found->second);
        continue;
      }
      const bool written = operand.logical.role == op::role::destination;
      const buffer_kind unwritten =
          op::needs_values(operand.logical) ? buffer_kind::own : buffer_kind::constants;
      slices_.push_back(rings.add(written ? buffer_kind::activations : unwritten, operand.bytes));
      reserved += operand.bytes;
    }
    return reserved;
  }

  /// Writes test data to operands in the row's own memory, in the slot at `own_slot`.
  void fill_own(device_context& context, std::byte* own_slot, std::uint64_t seed) const {
    if (!plan_) return;
    fill_own_operands(context.device(), *plan_, slices_, own_slot, seed, context.numbers());
  }

  /// Sets how many calls ahead it runs: whole ones, and a fraction of the time between two calls.
  void set_lead(std::int64_t calls, double fraction) {
    lead_ = calls;
    lead_fraction_ = fraction;
  }
  [[nodiscard]] std::int64_t lead() const { return lead_; }
  [[nodiscard]] double lead_fraction() const { return lead_fraction_; }

  /// Runs before call `call`, on the slot of the call that is lead() calls later.
  void run(device_context& context, const ring_buffers& rings, std::int64_t call) {
    const std::vector<address> places = rings.at(slices_, call + lead_);
    if (!plan_) {
      context.device().copy(places[1], places[0], bytes_);
      return;
    }
    if (bound_) {
      bound_->place(places);
    } else {
      workspace_ = context.workspace(plan_->workspace_bytes());
      bound_ = plan_->bind(places, workspace_->data());
    }
    bound_->run();
  }

 private:
  std::unique_ptr<any_plan> plan_;
  std::size_t output_;
  std::size_t bytes_;
  std::int64_t distance_;
  std::optional<std::size_t> repeated_;
  std::int64_t lead_ = 0;
  double lead_fraction_ = 0;
  std::map<std::size_t, slice> placed_ = {};  ///< by place()
  std::vector<slice> slices_;  ///< of the plan's operands; of a copy: source and destination
  std::shared_ptr<device_memory> workspace_;
  std::unique_ptr<bound_plan> bound_;
};

}  // namespace layerbench::run
