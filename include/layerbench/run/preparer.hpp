// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <layerbench/run/arena.hpp>
#include <layerbench/run/device.hpp>
#include <layerbench/run/window.hpp>

namespace layerbench::run {

/// Writes memory of a call's window before the call, untimed: with the plan that writes it in the
/// model where there is one, so that it lies in the caches where it does in the model.
class preparer {
 public:
  /// A null plan copies. `output` is the plan's operand that the call reads, so many `bytes` of it;
  /// `distance` the bytes touched between this and the call; `in_place` says that the plan writes
  /// over its first source.
  preparer(std::unique_ptr<any_plan> plan, std::size_t output, std::size_t bytes,
           std::int64_t distance, bool in_place)
      : plan_(std::move(plan)),
        output_(output),
        bytes_(bytes),
        distance_(distance),
        in_place_(plan_ && in_place) {}

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t distance() const { return distance_; }

  /// Bytes that it writes for the call, at least what that reads.
  [[nodiscard]] std::size_t written_bytes() const {
    return plan_ ? std::max(bytes_, operands()[output_].bytes) : bytes_;
  }

  /// Bytes that it touches beside.
  [[nodiscard]] std::size_t other_bytes() const {
    if (!plan_) return bytes_;
    std::size_t sum = 0;
    for (const plan_operand& each : operands()) sum += each.bytes;
    return sum - operands()[output_].bytes;
  }

  /// Gives it room in `all` for what it touches beside `to`, where it writes: what it reads nobody
  /// writes.
  void lay_out(window& all, part to) {
    if (!plan_) places_ = {all.add(room::constants, bytes_), to};
    for (const plan_operand& each : operands()) {
      const bool written = each.logical.role == op::role::destination;
      const bool wanted = places_.size() == output_;
      places_.push_back(
          wanted ? to : all.add(written ? room::activations : room::constants, each.bytes));
    }
    if (!in_place_) return;
    again_ = places_;
    const auto first = std::ranges::find(
        operands(), op::role::source, [](const plan_operand& each) { return each.logical.role; });
    again_[static_cast<std::size_t>(first - operands().begin())] = to;
  }

  /// Sets how many calls ahead it runs, when one touches so many bytes.
  void set_lead(std::size_t touched) {
    lead_ = std::llround(static_cast<double>(distance_) / static_cast<double>(touched));
  }

  /// Writes what is its part for call `call`.
  void run(arena& memory, const window& all, std::int64_t call) {
    const std::vector<address> places = all.at(places_, call + lead_);
    if (!plan_) {
      memory.here().copy(places[1], places[0], bytes_);
      return;
    }
    if (bound_) {
      bound_->place(places);
    } else {
      bound_ = plan_->bind(places, memory.workspace(plan_->workspace_bytes()));
    }
    bound_->run();
    if (!in_place_) return;
    // On what it has just written: on older results, results of results would grow and grow.
    bound_->place(all.at(again_, call + lead_));
    bound_->run();
  }

 private:
  [[nodiscard]] const std::vector<plan_operand>& operands() const {
    static const std::vector<plan_operand> none;
    return plan_ ? plan_->operands() : none;
  }

  std::unique_ptr<any_plan> plan_;
  std::size_t output_;
  std::size_t bytes_;
  std::int64_t distance_;
  bool in_place_;
  std::int64_t lead_ = 0;
  std::vector<part> places_;  ///< of the plan's operands; of a copy: from, to
  std::vector<part> again_;   ///< the same in place
  std::unique_ptr<bound_plan> bound_;
};

}  // namespace layerbench::run
