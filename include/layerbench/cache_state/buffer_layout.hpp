// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/step_caches.hpp>
#include <layerbench/cache_state/uses_to_repeat.hpp>

namespace layerbench::run {

/// Where the operands of a plan's calls lie, and the ops that set them up.
struct buffer_layout {
  ring_buffers rings = {};
  std::vector<ring_position> positions = {};  ///< of the plan's operands
  std::vector<setup_op> setup_ops = {};
  std::size_t call_bytes = 0;        ///< that a call and its setup ops touch
  std::size_t slots = 1;             ///< of the rings of constants and of updated memory
  std::size_t activation_slots = 1;  ///< of the ring of activations, which may be shorter
};

namespace detail {

/// Decides in this order:
/// 1. for each operand: which earlier uses of its memory setup ops repeat, and in which ring it
///    lies. A recent operand was used less than a turn of the ring ago; the others are old.
/// 2. the order of the setup ops, the longest ago first,
/// 3. the number of slots of the rings, which together touch the bytes of a step.
class buffer_layout_builder {
 public:
  /// `what` must outlive this object.
  buffer_layout_builder(compute_device& device, const any_plan& plan, const op_in_context& what);
  buffer_layout_builder(const buffer_layout_builder&) = delete;
  buffer_layout_builder& operator=(const buffer_layout_builder&) = delete;
  ~buffer_layout_builder() = default;

  [[nodiscard]] buffer_layout result() && { return std::move(layout_); }

 private:
  void add_operands();

  /// Reserves `bytes` for an operand that was last used one turn of the ring ago, or by setup ops,
  /// which may use more than the operand has. `changes`: the call, or a setup op, writes it.
  ring_position add_old(std::size_t i, std::size_t bytes, bool changes);

  /// Reserves `least_bytes` or more for an operand that the step used not long before the call, and
  /// adds the setup op that used it. `changes`: the call writes it.
  ring_position add_recent(const operand_history& history, std::size_t i, std::size_t least_bytes,
                           bool changes);

  /// Whether the call writes the operand, or another operand in the same memory.
  [[nodiscard]] bool is_written(std::size_t i) const;

  /// Adds a setup op that repeats a use of an operand at `place`.
  void repeat(repeated_use repeated, ring_position place);

  /// Sets the numbers of slots. A ring is a whole number of slots, so that each thread finds the
  /// memory that it touched itself one turn before. Where all activations of a step share memory,
  /// their ring is only as long as the oldest use that matters. A longer ring would use each slot
  /// once per step, and some last-level caches keep only what is used more often. A setup op that
  /// no call of the model has touches the bytes that the rings then lack, an equal share before
  /// each call.
  void set_slots();

  /// Bytes since the oldest use that the ring of activations must represent: of memory that lies in
  /// it, or a use that a setup op repeats.
  [[nodiscard]] std::size_t oldest_use() const;

  [[nodiscard]] operand_history history_of(std::size_t i) const {
    return i < what_.operands.size() ? what_.operands[i] : operand_history{};
  }

  compute_device& device_;
  const any_plan& plan_;
  const op_in_context& what_;
  step_caches caches_;
  std::size_t untouched_bytes_ = 0;  ///< of a slot: the rest of tensors of which a part is used
  buffer_layout layout_;
  uses_to_repeat uses_;
};

}  // namespace detail

/// The layout that brings a plan's operands into the cache state of their context (see
/// operand_ring).
[[nodiscard]] buffer_layout buffer_layout_of(compute_device& device, const any_plan& plan,
                                             const op_in_context& what);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cache_state/buffer_layout-inl.hpp>
#endif
