// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/op/activation.hpp>

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
  void set_leads(double turns_per_step = 1) {
    for (std::size_t i = 0; i < setup_ops.size(); ++i) {
      const bool after_eviction = private_eviction_bytes > 0 && i >= first_after_eviction;
      if (setup_ops[i].runs_first() || after_eviction) continue;
      const double calls = turns_per_step * static_cast<double>(setup_ops[i].distance()) /
                           static_cast<double>(touched_bytes);
      // The next slot would be the call's.
      const auto most = static_cast<double>(activation_slots - 1);
      const double whole = std::min(most, paced ? std::floor(calls) : std::round(calls));
      setup_ops[i].set_lead(static_cast<std::int64_t>(whole),
                            paced ? std::min(calls - whole, 1.0) : 0);
    }
    const bool has_first = !setup_ops.empty() && setup_ops.front().runs_first();
    std::ranges::stable_sort(setup_ops.begin() + (has_first ? 1 : 0),
                             setup_ops.begin() + static_cast<std::ptrdiff_t>(first_after_eviction),
                             std::ranges::greater{}, &setup_op::lead_fraction);
  }
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
  buffer_layout_builder(compute_device& device, const any_plan& plan, const op_in_context& what)
      : device_(device), plan_(plan), cache_(what.cache), reuse_bytes_(reuse_bytes_of(what)) {
    add_operands(what);
    layout_.rings.set_slots(layout_.slots, layout_.activation_slots);
  }

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
  [[nodiscard]] std::size_t reuse_bytes_of(const op_in_context& what) const {
    switch (what.cache) {
      case cache_state::hot: return 0;
      case cache_state::model:
        return std::min(static_cast<std::size_t>(what.footprint), uncached_bytes());
      case cache_state::cold: break;
    }
    return uncached_bytes();
  }
  /// After so many other bytes no cache holds an operand.
  [[nodiscard]] std::size_t uncached_bytes() const {
    const std::size_t known = device_.cache_bytes();
    return 4 * (known == 0 ? std::size_t{64} << 20U : known);
  }

  void add_operands(const op_in_context& what) {
    for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
      const operand_history history =
          i < what.operands.size() ? what.operands[i] : operand_history{};
      const auto same_as = history.same_as ? history.same_as : overwritten_by(plan_, i);
      if (same_as) {
        layout_.slices.push_back(layout_.slices[*same_as]);
        continue;
      }
      layout_.touched_bytes += plan_.operands()[i].touched_bytes();
      untouched_bytes_ += plan_.operands()[i].bytes - plan_.operands()[i].touched_bytes();
      const bool recent = is_recent(history, i);
      const bool written = is_written(what, i);
      std::vector<repeated_use> uses = uses_of(what.request, history, i, recent, written);
      std::size_t bytes = plan_.operands()[i].bytes;
      for (const repeated_use& use : uses) bytes = std::max(bytes, use.bytes);
      layout_.touched_bytes += bytes - plan_.operands()[i].bytes;
      layout_.slices.push_back(recent ? add_recent(what, history, i, bytes, written)
                                      : add_old(i, bytes, written || !uses.empty()));
      for (repeated_use& use : uses) repeat(std::move(use), layout_.slices[i]);
    }
    for (setup_op& op : layout_.setup_ops) layout_.touched_bytes += op.reserve(layout_.rings);
    // The op of the longest ago comes first; of equal producers the first source's, since it may
    // overwrite that source.
    std::ranges::stable_sort(layout_.setup_ops, std::ranges::greater{}, &setup_op::distance);
    set_slots(what);
    set_private_eviction(what);
    set_shared_cache(what);
    layout_.set_leads();
  }

  /// Whether private caches still hold something that was used `distance` bytes ago.
  [[nodiscard]] bool in_private_caches(std::int64_t distance) const {
    return static_cast<std::size_t>(distance) < device_.core_cache_bytes();
  }

  /// Whether it matters which core wrote an operand: only its private cache may hold the operand,
  /// from which other cores read slowly.
  [[nodiscard]] bool writer_matters() const {
    return device_.threads() > 1 && reuse_bytes_ <= device_.cache_bytes();
  }

  /// Bytes that evict the private caches. It is a multiple of their size, since they do not always
  /// evict the oldest line first.
  [[nodiscard]] std::size_t evicting_bytes() const { return 4 * device_.core_cache_bytes(); }
  [[nodiscard]] bool step_evicts(const op_in_context& what) const {
    return static_cast<std::size_t>(what.footprint) > evicting_bytes();
  }

  void set_private_eviction(const op_in_context& what) {
    if (what.evict_private_caches && cache_ == cache_state::model && step_evicts(what)) {
      layout_.private_eviction_bytes = evicting_bytes();
    }
    // A model that stays in the private caches has few layers, which run about one block each.
    if (!step_evicts(what)) {
      layout_.filler_blocks = std::min(layout_.filler_blocks, what.step_calls);
    }
    while (layout_.first_after_eviction < layout_.setup_ops.size() &&
           !in_private_caches(layout_.setup_ops[layout_.first_after_eviction].distance())) {
      ++layout_.first_after_eviction;
    }
  }

  void set_shared_cache(const op_in_context& what) {
    // The warm-up calls bring the rings of smaller models into the private caches.
    layout_.warm_shared_cache = what.warm_shared_cache && cache_ == cache_state::model &&
                                step_evicts(what) && reuse_bytes_ < uncached_bytes();
    const bool keeps_activations = layout_.warm_shared_cache && !what.shared_bytes;
    layout_.reads_results = keeps_activations;
    // What other tenants of the host leave in the last-level cache depends on the time that passes.
    // The cache keeps little of a step of more than twice its size in any case. Memory that all
    // activations share is used many times in a step: while the ring waited, it would be evicted.
    layout_.paced = keeps_activations && reuse_bytes_ <= 2 * device_.cache_bytes() &&
                    device_.timing() != timing_mode::graph;  // a graph cannot wait
  }

  /// Reserves `bytes` for an operand that was last used one turn of the ring ago, or by setup ops,
  /// which may use more than the operand has. `changes`: the call, or a setup op, writes it.
  slice add_old(std::size_t i, std::size_t bytes, bool changes) {
    const plan_operand& operand = plan_.operands()[i];
    if (op::needs_values(operand.logical))
      return layout_.rings.add(buffer_kind::own, operand.bytes);
    const op::role role = operand.logical.role;
    const bool kept = !operand.logical.kept_in.empty();  // from step to step, as weights are
    const bool learned = kept || (role != op::role::destination && role != op::role::source);
    if (changes) {
      return layout_.rings.add(learned ? buffer_kind::updated : buffer_kind::activations, bytes);
    }
    return layout_.rings.add(
        learned && operand.bytes <= small_bytes ? buffer_kind::own : buffer_kind::constants, bytes);
  }

  /// Whether the call writes the operand, or another operand in the same memory.
  [[nodiscard]] bool is_written(const op_in_context& what, std::size_t i) const {
    const auto overwrites = [&](const operand_history& other) { return other.same_as == i; };
    return std::ranges::any_of(what.operands, overwrites) ||
           plan_.operands()[i].logical.overwritten ||
           plan_.operands()[i].logical.role == op::role::destination;
  }

  /// The setup ops that repeat the uses of an operand before the call, the latest first. Of sources
  /// and weights only the latest use is repeated.
  [[nodiscard]] std::vector<repeated_use> uses_of(const plan_request& request,
                                                  const operand_history& history, std::size_t i,
                                                  bool recent, bool written) const {
    const plan_operand& operand = plan_.operands()[i];
    const bool repeats_all = operand.logical.role == op::role::destination;
    std::vector<repeated_use> found;
    for (const previous_use& use :
         history.uses | std::views::take(repeats_all ? history.uses.size() : 1)) {
      if (!needs_use(use, operand, recent, written)) continue;
      if (auto repeated = repeated_use_of(request, use, operand)) {
        found.push_back(std::move(*repeated));
      }
    }
    return found;
  }

  /// Whether a setup op has to repeat a use of an operand. In models that the last-level cache
  /// holds the coherence protocol costs time: a core that writes what other cores have read first
  /// invalidates their copies, which takes several times as long as the write. A core that reads
  /// what another core wrote fetches it from there. And what was used not long ago is still cached,
  /// in any model: so is memory that another activation used before. Not of opaque operands: their
  /// users would read what no forward pass wrote.
  [[nodiscard]] bool needs_use(const previous_use& use, const plan_operand& operand, bool recent,
                               bool written) const {
    if (cache_ != cache_state::model) return false;
    if (op::needs_values(operand.logical) || operand.logical.opaque) return false;
    const bool is_destination = operand.logical.role == op::role::destination;
    if (!is_destination && recent && use.writes) return false;  // that one runs as the producer
    const bool cached = reuse_bytes_ <= device_.cache_bytes();
    if (!cached) {
      return is_destination && 2 * static_cast<std::size_t>(use.distance) <= reuse_bytes_;
    }
    if (!written) return writer_matters() && use.writes && !recent && operand.bytes > small_bytes;
    return writer_matters() || 2 * static_cast<std::size_t>(use.distance) <= reuse_bytes_;
  }

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
                                                            const plan_operand& operand) const {
    const bool written = operand.logical.role == op::role::destination;
    const auto copy_of = [&](std::size_t bytes, bool user_runs) {
      return repeated_use{setup_op(nullptr, 0, bytes, use.distance), bytes, use, user_runs};
    };
    const setup_op* const known = written ? that_repeats(layout_.setup_ops, use) : nullptr;
    std::unique_ptr<any_plan> plan;
    if (!known && (!written || user_matters(use))) {
      request.pass = use.pass;
      plan = plan_or_null(device_, use.op, request);
    }
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
    return repeated_use{setup_op(std::move(plan), use.operands.front(),
                                 std::min(operand.bytes, used), use.distance, use.call),
                        used, use, true};
  }

  /// Whether it matters which core used a destination: on several threads, where the last-level
  /// cache holds the model or the private caches still hold what was used.
  [[nodiscard]] bool user_matters(const previous_use& use) const {
    return writer_matters() || (device_.threads() > 1 && in_private_caches(use.distance));
  }

  /// Adds a setup op that repeats a use of an operand at `place`.
  void repeat(repeated_use repeated, slice place) {
    const previous_use& use = repeated.use;
    if (repeated.user_runs) {
      setup_op* const user =
          repeated.op.plan() ? &repeated.op : that_repeats(layout_.setup_ops, use);
      for (const std::size_t operand : use.operands) user->place(operand, place);
    }
    repeated.op.place_output(place);
    // At equal distances it comes before the producers of sources, whose results are more recent.
    layout_.setup_ops.insert(layout_.setup_ops.begin(), std::move(repeated.op));
  }

  /// Whether the private caches may hold much of an operand, or it matters which core used it. Of a
  /// device without private caches the shared one counts, which other operands of the user fill,
  /// too.
  [[nodiscard]] bool needs_its_user(const operand_history& history, std::size_t i) const {
    const std::size_t own = device_.core_cache_bytes();
    const std::size_t nearest = own > 0 ? own : device_.cache_bytes();
    const bool mostly_evicted = plan_.operands()[i].bytes > 8 * nearest;
    const bool cached = static_cast<std::size_t>(*history.distance) < nearest;
    return !mostly_evicted && (cached || writer_matters());
  }

  /// Reserves `least_bytes` or more for an operand that the step used not long before the call, and
  /// adds the setup op that used it. `changes`: the call writes it.
  slice add_recent(const op_in_context& what, const operand_history& history, std::size_t i,
                   std::size_t least_bytes, bool changes) {
    plan_request request = what.request;
    const previous_use* const last = history.uses.empty() ? nullptr : &history.uses.front();
    const bool keeps_values = !changes && !plan_.operands()[i].logical.opaque;
    if (last && !last->writes && keeps_values && needs_its_user(history, i)) {
      // The caches hold what the reader left. Its producer may write past them, as a
      // normalization does that writes with non-temporal stores.
      if (auto reader = repeated_use_of(request, *last, plan_.operands()[i])) {
        const std::size_t bytes = std::max(least_bytes, reader->bytes);
        layout_.touched_bytes += bytes - least_bytes;
        const slice place = layout_.rings.add(buffer_kind::constants, bytes);
        repeat(std::move(*reader), place);
        return place;
      }
    }
    request.pass = history.producer_pass;
    // A copy suffices where private caches hold nothing of the operand, or only a small share of
    // it, and it does not matter which core wrote it. It also suffices for what the producer writes
    // beside its result, which is small or needs certain values.
    std::unique_ptr<any_plan> plan;
    if (history.producer && !what.copies_sources && needs_its_user(history, i)) {
      plan = plan_or_null(device_, *history.producer, request);
    }
    if (plan && !is_result(*plan, history.producer_output)) plan.reset();
    setup_op producer(std::move(plan), history.producer_output, plan_.operands()[i].bytes,
                      *history.distance,
                      last && last->writes ? std::optional(last->call) : std::nullopt);
    const slice output = layout_.rings.add(buffer_kind::activations,
                                           std::max(least_bytes, producer.written_bytes()));
    producer.place_output(output);
    layout_.setup_ops.push_back(std::move(producer));
    return output;
  }

  /// Sets the numbers of slots. A ring is a whole number of slots, so that each thread finds the
  /// memory that it touched itself one turn before. Where all activations of a step share memory,
  /// their ring is only as long as the oldest use that matters. A longer ring would use each slot
  /// once per step, and some last-level caches keep only what is used more often. A setup op that
  /// no call of the model has touches the bytes that the rings then lack, an equal share before
  /// each call.
  void set_slots(const op_in_context& what) {
    layout_.slots =
        std::max<std::size_t>(1, reuse_bytes_ / (layout_.touched_bytes + untouched_bytes_));
    layout_.activation_slots = layout_.slots;
    const std::size_t written = layout_.rings.slot_bytes(buffer_kind::activations);
    // Bytes that a call has to touch beside its own where that many slots hold activations.
    const auto missing_with = [&](std::size_t activation_slots) {
      constexpr std::size_t page = 4096;
      const std::size_t touched = layout_.slots * layout_.touched_bytes;
      const std::size_t again = (layout_.slots - activation_slots) * written;
      const std::size_t distinct = touched - std::min(touched, again);
      return (reuse_bytes_ - std::min(reuse_bytes_, distinct)) / layout_.slots / page * page;
    };
    if (cache_ == cache_state::model && what.shared_bytes && written > 0) {
      const auto most = std::clamp<std::size_t>(
          static_cast<std::size_t>(*what.shared_bytes) / written, 1, layout_.slots);
      const std::size_t oldest = oldest_use(what);
      std::size_t& slots = layout_.activation_slots = 1;
      while (slots < most && slots * (layout_.touched_bytes + missing_with(slots)) <= oldest)
        ++slots;
    }
    const std::size_t missing = missing_with(layout_.activation_slots);
    if (missing == 0 || (cache_ != cache_state::model && untouched_bytes_ == 0)) return;
    const std::size_t half = missing / 2;  // the op reads one half and writes the other
    const op::activation relu{op::activation_kind::relu,
                              {static_cast<std::int64_t>(half / sizeof(float))}};
    constexpr std::size_t destination = 1;
    setup_op padding(plan_or_null(device_, op::any(relu), {}), destination, half,
                     setup_op::max_distance);
    padding.place_output(layout_.rings.add(buffer_kind::updated, half));
    padding.reserve(layout_.rings);
    layout_.touched_bytes += missing;
    layout_.setup_ops.insert(layout_.setup_ops.begin(), std::move(padding));
  }

  /// Bytes since the oldest use that the ring of activations must represent: of memory that lies in
  /// it, or a use that a setup op repeats.
  [[nodiscard]] std::size_t oldest_use(const op_in_context& what) const {
    std::int64_t oldest = 0;
    for (const setup_op& op : layout_.setup_ops) oldest = std::max(oldest, op.distance());
    const operand_history unknown;
    for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
      if (layout_.slices[i].kind != buffer_kind::activations) continue;
      const operand_history& history = i < what.operands.size() ? what.operands[i] : unknown;
      if (history.same_as || overwritten_by(plan_, i)) continue;
      if (!history.distance && history.uses.empty()) return reuse_bytes_;
      oldest = std::max(oldest, history.distance.value_or(0));
      for (const previous_use& use : history.uses) oldest = std::max(oldest, use.distance);
    }
    return static_cast<std::size_t>(oldest);
  }

  /// Whether the operand was used too short a time ago for a turn of the ring to represent it.
  /// Destinations count as old unless they share the memory of a source. So do small weights, which
  /// need certain values.
  [[nodiscard]] bool is_recent(const operand_history& history, std::size_t i) const {
    if (cache_ != cache_state::model || !history.distance) return false;
    const plan_operand& operand = plan_.operands()[i];
    const op::role role = operand.logical.role;
    if (role == op::role::destination || op::needs_values(operand.logical)) return false;
    if (role != op::role::source && operand.bytes <= small_bytes) return false;
    return 2 * static_cast<std::size_t>(*history.distance) <= reuse_bytes_;
  }

  /// Whether it is the first operand that the plan writes.
  [[nodiscard]] static bool is_result(const any_plan& plan, std::size_t operand) {
    const auto role = [](const plan_operand& of) { return of.logical.role; };
    const auto first = std::ranges::find(plan.operands(), op::role::destination, role);
    return first - plan.operands().begin() == static_cast<std::ptrdiff_t>(operand);
  }

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
[[nodiscard]] inline buffer_layout buffer_layout_of(compute_device& device, const any_plan& plan,
                                                    const op_in_context& what) {
  return detail::buffer_layout_builder(device, plan, what).result();
}

}  // namespace layerbench::run
