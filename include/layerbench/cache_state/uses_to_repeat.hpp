// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/step_caches.hpp>

namespace layerbench::run {

/// A setup op that repeats a use of an operand's memory.
struct repeated_use {
  setup_op op;
  std::size_t bytes;        ///< of the memory that the use takes
  const previous_use& use;  ///< in a history that must outlive this
  bool user_runs;           ///< as this op, or as a known one behind this copy
};

/// The setup op that repeats the call that made a use, or null.
[[nodiscard]] auto* that_repeats(auto& setup_ops, const previous_use& use) {
  const auto found =
      std::ranges::find_if(setup_ops, [&](const setup_op& op) { return op.repeats(use); });
  return found == setup_ops.end() ? nullptr : &*found;
}

/// Chooses which earlier uses of a plan's operands setup ops have to repeat.
class uses_to_repeat {
 public:
  static constexpr std::size_t small_bytes = 65536;

  /// All must outlive this object. `setup_ops` are those chosen so far.
  uses_to_repeat(compute_device& device, const any_plan& plan, const op_in_context& what,
                 const std::vector<setup_op>& setup_ops)
      : device_(device), plan_(plan), what_(what), setup_ops_(setup_ops), caches_(device, what) {}

  /// Whether the operand was used too short a time ago for a turn of the ring to represent it.
  /// Destinations count as old unless they share the memory of a source. So do small weights, which
  /// need certain values.
  [[nodiscard]] bool is_recent(const operand_history& history, std::size_t i) const;

  /// The setup ops that repeat the uses of an operand before the call, the latest first. Of sources
  /// and weights only the latest use is repeated. `written`: the call writes the operand.
  [[nodiscard]] std::vector<repeated_use> of(const operand_history& history, std::size_t i,
                                             bool recent, bool written) const;

  /// The setup op that repeats the last use of a recent source before the call, where that use was
  /// another reader's. Its caches hold what the reader left: the producer may write past them, as a
  /// normalization does that writes with non-temporal stores.
  [[nodiscard]] std::optional<repeated_use> of_reader(const operand_history& history, std::size_t i,
                                                      bool written) const;

  /// The setup op that writes a recent source as its producer does. It is a copy where private
  /// caches hold nothing of the operand, or only a small share of it, and it does not matter which
  /// core wrote it; and of what the producer writes beside its result, which is small or needs
  /// certain values.
  [[nodiscard]] setup_op producer_of(const operand_history& history, std::size_t i) const;

 private:
  /// Whether a setup op has to repeat a use of an operand. In models that the last-level cache
  /// holds the coherence protocol costs time: a core that writes what other cores have read first
  /// invalidates their copies, which takes several times as long as the write. A core that reads
  /// what another core wrote fetches it from there. And what was used not long ago is still cached,
  /// in any model: so is memory that another activation used before. Not of opaque operands: their
  /// users would read what no forward pass wrote.
  [[nodiscard]] bool is_needed(const previous_use& use, const plan_operand& operand, bool recent,
                               bool written) const;

  /// A setup op that runs the call which made the use. Nothing if there is no plan for that call,
  /// or if it needs certain values in this memory. For a destination the setup op is a copy instead
  /// in these two cases, and where one of these holds:
  /// - A known setup op, mostly the producer of a source, repeats that call already. It then uses
  ///   the memory too, and the copy keeps it from reading results of the call.
  /// - It does not matter which core used the memory. The op would touch more other memory.
  [[nodiscard]] std::optional<repeated_use> repeated(const previous_use& use,
                                                     const plan_operand& operand) const;

  /// Whether the private caches may hold much of an operand, or it matters which core used it. Of a
  /// device without private caches the shared one counts, which other operands of the user fill,
  /// too.
  [[nodiscard]] bool needs_its_user(const operand_history& history, std::size_t i) const;

  /// The plan with which a setup op runs an op of the step, or null.
  [[nodiscard]] std::unique_ptr<any_plan> plan_of(const op::any& op, op::pass pass) const;

  compute_device& device_;
  const any_plan& plan_;
  const op_in_context& what_;
  const std::vector<setup_op>& setup_ops_;
  step_caches caches_;
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cache_state/uses_to_repeat-inl.hpp>
#endif
