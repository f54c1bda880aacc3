// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/cache_state/buffer_layout.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE void buffer_layout::set_leads(double turns_per_step) {
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

namespace detail {

LAYERBENCH_INLINE buffer_layout_builder::buffer_layout_builder(compute_device& device,
                                                               const any_plan& plan,
                                                               const op_in_context& what)
    : device_(device), plan_(plan), cache_(what.cache), reuse_bytes_(reuse_bytes_of(what)) {
  add_operands(what);
  layout_.rings.set_slots(layout_.slots, layout_.activation_slots);
}

LAYERBENCH_INLINE std::size_t buffer_layout_builder::reuse_bytes_of(
    const op_in_context& what) const {
  switch (what.cache) {
    case cache_state::hot: return 0;
    case cache_state::model:
      return std::min(static_cast<std::size_t>(what.footprint), uncached_bytes());
    case cache_state::cold: break;
  }
  return uncached_bytes();
}

LAYERBENCH_INLINE std::size_t buffer_layout_builder::uncached_bytes() const {
  const std::size_t known = device_.cache_bytes();
  return 4 * (known == 0 ? std::size_t{64} << 20U : known);
}

LAYERBENCH_INLINE void buffer_layout_builder::add_operands(const op_in_context& what) {
  for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
    const operand_history history = i < what.operands.size() ? what.operands[i] : operand_history{};
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

LAYERBENCH_INLINE bool buffer_layout_builder::in_private_caches(std::int64_t distance) const {
  return static_cast<std::size_t>(distance) < device_.core_cache_bytes();
}

LAYERBENCH_INLINE bool buffer_layout_builder::writer_matters() const {
  return device_.threads() > 1 && reuse_bytes_ <= device_.cache_bytes();
}

LAYERBENCH_INLINE bool buffer_layout_builder::step_evicts(const op_in_context& what) const {
  return static_cast<std::size_t>(what.footprint) > evicting_bytes();
}

LAYERBENCH_INLINE void buffer_layout_builder::set_private_eviction(const op_in_context& what) {
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

LAYERBENCH_INLINE void buffer_layout_builder::set_shared_cache(const op_in_context& what) {
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

LAYERBENCH_INLINE slice buffer_layout_builder::add_old(std::size_t i, std::size_t bytes,
                                                       bool changes) {
  const plan_operand& operand = plan_.operands()[i];
  if (op::needs_values(operand.logical)) return layout_.rings.add(buffer_kind::own, operand.bytes);
  const op::role role = operand.logical.role;
  const bool kept = !operand.logical.kept_in.empty();  // from step to step, as weights are
  const bool learned = kept || (role != op::role::destination && role != op::role::source);
  if (changes) {
    return layout_.rings.add(learned ? buffer_kind::updated : buffer_kind::activations, bytes);
  }
  return layout_.rings.add(
      learned && operand.bytes <= small_bytes ? buffer_kind::own : buffer_kind::constants, bytes);
}

LAYERBENCH_INLINE bool buffer_layout_builder::is_written(const op_in_context& what,
                                                         std::size_t i) const {
  const auto overwrites = [&](const operand_history& other) { return other.same_as == i; };
  return std::ranges::any_of(what.operands, overwrites) ||
         plan_.operands()[i].logical.overwritten ||
         plan_.operands()[i].logical.role == op::role::destination;
}

LAYERBENCH_INLINE std::vector<buffer_layout_builder::repeated_use> buffer_layout_builder::uses_of(
    const plan_request& request, const operand_history& history, std::size_t i, bool recent,
    bool written) const {
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

LAYERBENCH_INLINE bool buffer_layout_builder::needs_use(const previous_use& use,
                                                        const plan_operand& operand, bool recent,
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

LAYERBENCH_INLINE std::optional<buffer_layout_builder::repeated_use>
buffer_layout_builder::repeated_use_of(plan_request request, const previous_use& use,
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
  return repeated_use{setup_op(std::move(plan), use.operands.front(), std::min(operand.bytes, used),
                               use.distance, use.call),
                      used, use, true};
}

LAYERBENCH_INLINE bool buffer_layout_builder::user_matters(const previous_use& use) const {
  return writer_matters() || (device_.threads() > 1 && in_private_caches(use.distance));
}

LAYERBENCH_INLINE void buffer_layout_builder::repeat(repeated_use repeated, slice place) {
  const previous_use& use = repeated.use;
  if (repeated.user_runs) {
    setup_op* const user = repeated.op.plan() ? &repeated.op : that_repeats(layout_.setup_ops, use);
    for (const std::size_t operand : use.operands) user->place(operand, place);
  }
  repeated.op.place_output(place);
  // At equal distances it comes before the producers of sources, whose results are more recent.
  layout_.setup_ops.insert(layout_.setup_ops.begin(), std::move(repeated.op));
}

LAYERBENCH_INLINE bool buffer_layout_builder::needs_its_user(const operand_history& history,
                                                             std::size_t i) const {
  const std::size_t own = device_.core_cache_bytes();
  const std::size_t nearest = own > 0 ? own : device_.cache_bytes();
  const bool mostly_evicted = plan_.operands()[i].bytes > 8 * nearest;
  const bool cached = static_cast<std::size_t>(*history.distance) < nearest;
  return !mostly_evicted && (cached || writer_matters());
}

LAYERBENCH_INLINE slice buffer_layout_builder::add_recent(const op_in_context& what,
                                                          const operand_history& history,
                                                          std::size_t i, std::size_t least_bytes,
                                                          bool changes) {
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
  const slice output =
      layout_.rings.add(buffer_kind::activations, std::max(least_bytes, producer.written_bytes()));
  producer.place_output(output);
  layout_.setup_ops.push_back(std::move(producer));
  return output;
}

LAYERBENCH_INLINE void buffer_layout_builder::set_slots(const op_in_context& what) {
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
    while (slots < most && slots * (layout_.touched_bytes + missing_with(slots)) <= oldest) ++slots;
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

LAYERBENCH_INLINE std::size_t buffer_layout_builder::oldest_use(const op_in_context& what) const {
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

LAYERBENCH_INLINE bool buffer_layout_builder::is_recent(const operand_history& history,
                                                        std::size_t i) const {
  if (cache_ != cache_state::model || !history.distance) return false;
  const plan_operand& operand = plan_.operands()[i];
  const op::role role = operand.logical.role;
  if (role == op::role::destination || op::needs_values(operand.logical)) return false;
  if (role != op::role::source && operand.bytes <= small_bytes) return false;
  return 2 * static_cast<std::size_t>(*history.distance) <= reuse_bytes_;
}

LAYERBENCH_INLINE bool buffer_layout_builder::is_result(const any_plan& plan, std::size_t operand) {
  const auto role = [](const plan_operand& of) { return of.logical.role; };
  const auto first = std::ranges::find(plan.operands(), op::role::destination, role);
  return first - plan.operands().begin() == static_cast<std::ptrdiff_t>(operand);
}

}  // namespace detail

LAYERBENCH_INLINE buffer_layout buffer_layout_of(compute_device& device, const any_plan& plan,
                                                 const op_in_context& what) {
  return detail::buffer_layout_builder(device, plan, what).result();
}

}  // namespace layerbench::run
