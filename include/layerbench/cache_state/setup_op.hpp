// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/ring_slot.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

/// Gives those of a plan's operands their test data that have room of the row's own, in the window
/// at `own`.
inline void fill_operands(const any_plan& plan, const std::vector<slice>& slices, std::byte* own,
                          std::uint64_t seed) {
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const op::operand& operand = plan.operands()[i].logical;
    if (slices[i].in != buffer_kind::own || operand.role == op::role::destination) continue;
    plan.upload(i, random_values(operand, operand_seed(seed, i)), own + slices[i].offset);
  }
}

/// Writes memory of a call's window before the call, untimed: with the plan that writes it in the
/// model where there is one, so that it lies in the caches where it does in the model.
class setup_op {
 public:
  static constexpr std::int64_t longest_ago = INT64_MAX;  ///< as a distance: before all others

  /// A null plan copies. `output` is the plan's operand that the call reads, so many `bytes` of it;
  /// `distance` the bytes touched between this and the call.
  setup_op(std::unique_ptr<any_plan> plan, std::size_t output, std::size_t bytes,
           std::int64_t distance)
      : plan_(std::move(plan)), output_(output), bytes_(bytes), distance_(distance) {}

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t distance() const { return distance_; }
  [[nodiscard]] bool before_all() const { return distance_ == longest_ago; }

  /// Bytes that it writes for the call, at least what that reads.
  [[nodiscard]] std::size_t written_bytes() const {
    return plan_ ? std::max(bytes_, operand_bytes(output_)) : bytes_;
  }
  [[nodiscard]] bool needs_values(std::size_t operand) const {
    return op::needs_values(plan_->operands()[operand].logical);
  }
  [[nodiscard]] std::size_t operand_bytes(std::size_t operand) const {
    return plan_->operands()[operand].bytes;
  }

  /// Gives it room in `all` for what it touches beside `to`, where it writes, and beside what is
  /// given to it by operand; the rest of what it reads nobody writes. Returns the bytes of the
  /// room.
  std::size_t lay_out(ring_slot& all, slice to, std::map<std::size_t, slice> given = {}) {
    if (!plan_) {
      places_ = {all.add(buffer_kind::constants, bytes_), to};
      return bytes_;
    }
    given.emplace(output_, to);
    std::size_t taken = 0;
    for (const plan_operand& operand : plan_->operands()) {
      const auto known = given.find(places_.size());
      if (known != given.end()) {
        places_.push_back(known->second);
        continue;
      }
      const bool written = operand.logical.role == op::role::destination;
      const buffer_kind unwritten =
          op::needs_values(operand.logical) ? buffer_kind::own : buffer_kind::constants;
      places_.push_back(all.add(written ? buffer_kind::activations : unwritten, operand.bytes));
      taken += operand.bytes;
    }
    return taken;
  }

  /// Gives values to what has room of the row's own, in the window at `own`.
  void fill_own(std::byte* own, std::uint64_t seed) const {
    if (plan_) fill_operands(*plan_, places_, own, seed);
  }

  /// Sets how many calls ahead it runs, and by which part of the time between calls earlier still.
  void set_lead(std::int64_t calls, double earlier) {
    lead_ = calls;
    earlier_ = earlier;
  }
  [[nodiscard]] std::int64_t lead() const { return lead_; }
  [[nodiscard]] double earlier() const { return earlier_; }

  /// Writes what is its part for call `call`.
  void run(device_context& memory, const ring_slot& all, std::int64_t call) {
    const std::vector<address> places = all.at(places_, call + lead_);
    if (!plan_) {
      memory.device().copy(places[1], places[0], bytes_);
      return;
    }
    if (bound_) {
      bound_->place(places);
    } else {
      bound_ = plan_->bind(places, memory.workspace(plan_->workspace_bytes()));
    }
    bound_->run();
  }

 private:
  std::unique_ptr<any_plan> plan_;
  std::size_t output_;
  std::size_t bytes_;
  std::int64_t distance_;
  std::int64_t lead_ = 0;
  double earlier_ = 0;
  std::vector<slice> places_;  ///< of the plan's operands; of a copy: from, to
  std::unique_ptr<bound_plan> bound_;
};

}  // namespace layerbench::run
