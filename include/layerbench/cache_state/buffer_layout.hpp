// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/state.hpp>

namespace layerbench::run {

/// Where the operands of a plan's calls lie, and what is done before each call.
struct buffer_layout {
  ring_buffers rings = {};
  std::vector<slice> slices = {};  ///< of the plan's operands
  std::vector<setup_op> setup_ops = {};
  /// Index of the first setup op that runs after the private caches were evicted.
  std::size_t first_after_eviction = 0;
  std::size_t private_eviction_bytes = 0;  ///< 0: private caches are not evicted
  bool warm_shared_cache = false;          ///< the caller should read the rings before it measures
  /// Results should be read again after a call, since a last-level cache may keep such memory until
  /// the next step. Not of shared memory, which the model soon uses for something else.
  bool reads_results = false;
  bool paced = false;  ///< one turn of the rings should last as long as a step
  std::size_t filler_blocks = instruction_cache_filler.size();  ///< run before each call
  std::size_t touched_bytes = 0;                                ///< by a call and its setup ops
  std::size_t slots = 1;             ///< of the rings of constants and of updated memory
  std::size_t activation_slots = 1;  ///< of the ring of activations, which may be shorter

  /// Sets how many calls ahead each setup op runs, from its distance to the call. Ops that run
  /// after the eviction, and the one that runs first, run just before the call. `turns_per_step` is
  /// the time of a step in turns of the rings; paced calls also use the fraction of a call. The ops
  /// of one call then run in that order.
  void set_leads(double turns_per_step = 1);
};

namespace detail {

/// Decides in this order:
/// 1. for each operand: which earlier uses of its memory setup ops repeat, and in which ring it
///    lies. A recent operand was used less than a turn of the ring ago; the others are old.
/// 2. the order of the setup ops, the longest ago first,
/// 3. the number of slots of the rings, which together touch the bytes of a step,
/// 4. what is evicted from the private caches, and which setup ops run after it,
/// 5. whether the last-level cache is warmed, and calls are paced,
/// 6. how many calls ahead each setup op runs.
class buffer_layout_builder {
 public:
  buffer_layout_builder(compute_device& device, const any_plan& plan, const op_in_context& what);

  [[nodiscard]] buffer_layout result() && { return std::move(layout_); }

 private:
  /// A setup op that repeats a use of an operand's memory.
  struct repeated_use {
    setup_op op;
    std::size_t bytes;        ///< of the memory that the use takes
    const previous_use& use;  ///< in a history that must outlive this
    bool user_runs;           ///< as this op, or as a known one behind this copy
  };

  static constexpr std::size_t small_bytes = 65536;

  /// Bytes to touch between two uses of weights.
  [[nodiscard]] std::size_t reuse_bytes_of(const op_in_context& what) const;
  /// After so many other bytes no cache holds an operand.
  [[nodiscard]] std::size_t uncached_bytes() const;

  void add_operands(const op_in_context& what);

  /// Whether private caches still hold something that was used `distance` bytes ago.
  [[nodiscard]] bool in_private_caches(std::int64_t distance) const;

  /// Whether it matters which core wrote an operand: only its private cache may hold the operand,
  /// from which other cores read slowly.
  [[nodiscard]] bool writer_matters() const;

  /// Bytes that evict the private caches. It is a multiple of their size, since they do not always
  /// evict the oldest line first.
  [[nodiscard]] std::size_t evicting_bytes() const { return 4 * device_.core_cache_bytes(); }
  [[nodiscard]] bool step_evicts(const op_in_context& what) const;

  void set_private_eviction(const op_in_context& what);

  void set_shared_cache(const op_in_context& what);

  /// Reserves `bytes` for an operand that was last used one turn of the ring ago, or by setup ops,
  /// which may use more than the operand has. `changes`: the call, or a setup op, writes it.
  slice add_old(std::size_t i, std::size_t bytes, bool changes);

  /// Whether the call writes the operand, or another operand in the same memory.
  [[nodiscard]] bool is_written(const op_in_context& what, std::size_t i) const;

  /// The setup ops that repeat the uses of an operand before the call, the latest first. Of sources
  /// and weights only the latest use is repeated.
  [[nodiscard]] std::vector<repeated_use> uses_of(const plan_request& request,
                                                  const operand_history& history, std::size_t i,
                                                  bool recent, bool written) const;

  /// Whether a setup op has to repeat a use of an operand. In models that the last-level cache
  /// holds the coherence protocol costs time: a core that writes what other cores have read first
  /// invalidates their copies, which takes several times as long as the write. A core that reads
  /// what another core wrote fetches it from there. And what was used not long ago is still cached,
  /// in any model: so is memory that another activation used before. Not of opaque operands: their
  /// users would read what no forward pass wrote.
  [[nodiscard]] bool needs_use(const previous_use& use, const plan_operand& operand, bool recent,
                               bool written) const;

  /// The setup op that repeats the call that made a use, or null.
  [[nodiscard]] static auto* that_repeats(auto& setup_ops, const previous_use& use) {
    const auto found =
        std::ranges::find_if(setup_ops, [&](const setup_op& op) { return op.repeats(use); });
    return found == setup_ops.end() ? nullptr : &*found;
  }

  /// The setup op for a use of an operand: the user. Nothing if the user cannot run, or needs
  /// certain values in this memory. Of a destination it is a copy instead, where one of these
  /// holds:
  /// - A known setup op, mostly the producer of a source, repeats the user already. That one gets
  ///   the memory, and the copy keeps it from reading results of the call.
  /// - It does not matter which core used the memory. The user would touch more other memory.
  /// - The user cannot run, or needs certain values in this memory.
  [[nodiscard]] std::optional<repeated_use> repeated_use_of(plan_request request,
                                                            const previous_use& use,
                                                            const plan_operand& operand) const;

  /// Whether it matters which core used a destination: on several threads, where the last-level
  /// cache holds the model or the private caches still hold what was used.
  [[nodiscard]] bool user_matters(const previous_use& use) const;

  /// Adds a setup op that repeats a use of an operand at `place`.
  void repeat(repeated_use repeated, slice place);

  /// Whether the private caches may hold much of an operand, or it matters which core used it. Of a
  /// device without private caches the shared one counts, which other operands of the user fill,
  /// too.
  [[nodiscard]] bool needs_its_user(const operand_history& history, std::size_t i) const;

  /// Reserves `least_bytes` or more for an operand that the step used not long before the call, and
  /// adds the setup op that used it. `changes`: the call writes it.
  slice add_recent(const op_in_context& what, const operand_history& history, std::size_t i,
                   std::size_t least_bytes, bool changes);

  /// Sets the numbers of slots. A ring is a whole number of slots, so that each thread finds the
  /// memory that it touched itself one turn before. Where all activations of a step share memory,
  /// their ring is only as long as the oldest use that matters. A longer ring would use each slot
  /// once per step, and some last-level caches keep only what is used more often. A setup op that
  /// no call of the model has touches the bytes that the rings then lack, an equal share before
  /// each call.
  void set_slots(const op_in_context& what);

  /// Bytes since the oldest use that the ring of activations must represent: of memory that lies in
  /// it, or a use that a setup op repeats.
  [[nodiscard]] std::size_t oldest_use(const op_in_context& what) const;

  /// Whether the operand was used too short a time ago for a turn of the ring to represent it.
  /// Destinations count as old unless they share the memory of a source. So do small weights, which
  /// need certain values.
  [[nodiscard]] bool is_recent(const operand_history& history, std::size_t i) const;

  /// Whether it is the first operand that the plan writes.
  [[nodiscard]] static bool is_result(const any_plan& plan, std::size_t operand);

  compute_device& device_;
  const any_plan& plan_;
  cache_state cache_;
  std::size_t reuse_bytes_;          ///< touched between two uses of weights
  std::size_t untouched_bytes_ = 0;  ///< of a slot: the rest of tensors of which a part is used
  buffer_layout layout_;
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
