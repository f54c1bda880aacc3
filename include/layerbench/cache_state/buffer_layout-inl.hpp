// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <functional>
#include <layerbench/base/compiled.hpp>
#include <layerbench/cache_state/buffer_layout.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::run {

namespace detail {

LAYERBENCH_INLINE buffer_layout_builder::buffer_layout_builder(compute_device& device,
                                                               const any_plan& plan,
                                                               const op_in_context& what)
    : device_(device),
      plan_(plan),
      what_(what),
      caches_(device, what),
      uses_(device, plan, what, layout_.setup_ops) {
  add_operands();
  for (setup_op& op : layout_.setup_ops) layout_.call_bytes += op.reserve(layout_.rings);
  // The op of the longest ago comes first; of equal producers the first source's, since it may
  // overwrite that source.
  std::ranges::stable_sort(layout_.setup_ops, std::ranges::greater{}, &setup_op::distance);
  set_slots();
  layout_.rings.set_slots(layout_.slots, layout_.activation_slots,
                          what.cache == cache_state::hot ? 1 : input_versions);
}

LAYERBENCH_INLINE void buffer_layout_builder::add_operands() {
  for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
    const operand_history history = history_of(i);
    const auto same_as = history.same_as ? history.same_as : overwritten_by(plan_, i);
    if (same_as) {
      layout_.positions.push_back(layout_.positions[*same_as]);
      continue;
    }
    layout_.call_bytes += plan_.operands()[i].touched_bytes();
    untouched_bytes_ += plan_.operands()[i].bytes - plan_.operands()[i].touched_bytes();
    const bool recent = uses_.is_recent(history, i);
    const bool written = is_written(i);
    std::vector<repeated_use> uses = uses_.of(history, i, recent, written);
    std::size_t bytes = plan_.operands()[i].bytes;
    for (const repeated_use& use : uses) bytes = std::max(bytes, use.bytes);
    layout_.call_bytes += bytes - plan_.operands()[i].bytes;
    layout_.positions.push_back(recent ? add_recent(history, i, bytes, written)
                                       : add_old(i, bytes, written || !uses.empty()));
    for (repeated_use& use : uses) repeat(std::move(use), layout_.positions[i]);
  }
}

LAYERBENCH_INLINE ring_position buffer_layout_builder::add_old(std::size_t i, std::size_t bytes,
                                                               bool changes) {
  const plan_operand& operand = plan_.operands()[i];
  if (op::needs_values(operand.logical)) {
    return layout_.rings.add(own_kind(operand.logical), operand.bytes);
  }
  const op::role role = operand.logical.role;
  const bool kept = !operand.logical.kept_in.empty();  // from step to step, as weights are
  const bool learned = kept || (role != op::role::destination && role != op::role::source);
  if (changes) {
    return layout_.rings.add(learned ? buffer_kind::updated : buffer_kind::activations, bytes);
  }
  return layout_.rings.add(learned && operand.bytes <= uses_to_repeat::small_bytes
                               ? buffer_kind::own
                               : buffer_kind::constants,
                           bytes);
}

LAYERBENCH_INLINE bool buffer_layout_builder::is_written(std::size_t i) const {
  const auto overwrites = [&](const operand_history& other) { return other.same_as == i; };
  return std::ranges::any_of(what_.operands, overwrites) ||
         plan_.operands()[i].logical.overwritten ||
         plan_.operands()[i].logical.role == op::role::destination;
}

LAYERBENCH_INLINE void buffer_layout_builder::repeat(repeated_use repeated, ring_position place) {
  const previous_use& use = repeated.use;
  if (repeated.user_runs) {
    setup_op* const user = repeated.op.plan() ? &repeated.op : that_repeats(layout_.setup_ops, use);
    for (const std::size_t operand : use.operands) user->place(operand, place);
  }
  repeated.op.place_output(place);
  // At equal distances it comes before the producers of sources, whose results are more recent.
  layout_.setup_ops.insert(layout_.setup_ops.begin(), std::move(repeated.op));
}

LAYERBENCH_INLINE ring_position buffer_layout_builder::add_recent(const operand_history& history,
                                                                  std::size_t i,
                                                                  std::size_t least_bytes,
                                                                  bool changes) {
  if (auto reader = uses_.of_reader(history, i, changes)) {
    const std::size_t bytes = std::max(least_bytes, reader->bytes);
    layout_.call_bytes += bytes - least_bytes;
    const ring_position place = layout_.rings.add(buffer_kind::constants, bytes);
    repeat(std::move(*reader), place);
    return place;
  }
  setup_op producer = uses_.producer_of(history, i);
  const ring_position output =
      layout_.rings.add(buffer_kind::activations, std::max(least_bytes, producer.written_bytes()));
  producer.place_output(output);
  layout_.setup_ops.push_back(std::move(producer));
  return output;
}

LAYERBENCH_INLINE void buffer_layout_builder::set_slots() {
  layout_.slots =
      std::max<std::size_t>(1, caches_.reuse_bytes() / (layout_.call_bytes + untouched_bytes_));
  layout_.activation_slots = layout_.slots;
  const std::size_t written = layout_.rings.slot_bytes(buffer_kind::activations);
  // Bytes that a call has to touch beside its own where that many slots hold activations.
  const auto missing_with = [&](std::size_t activation_slots) {
    constexpr std::size_t page = 4096;
    const std::size_t touched = layout_.slots * layout_.call_bytes;
    const std::size_t again = (layout_.slots - activation_slots) * written;
    const std::size_t distinct = touched - std::min(touched, again);
    return (caches_.reuse_bytes() - std::min(caches_.reuse_bytes(), distinct)) / layout_.slots /
           page * page;
  };
  if (caches_.of_model() && what_.shared_bytes && written > 0) {
    const auto most = std::clamp<std::size_t>(
        static_cast<std::size_t>(*what_.shared_bytes) / written, 1, layout_.slots);
    const std::size_t oldest = oldest_use();
    std::size_t& slots = layout_.activation_slots = 1;
    while (slots < most && slots * (layout_.call_bytes + missing_with(slots)) <= oldest) ++slots;
  }
  const std::size_t missing = missing_with(layout_.activation_slots);
  if (missing == 0 || (!caches_.of_model() && untouched_bytes_ == 0)) return;
  const std::size_t half = missing / 2;  // the op reads one half and writes the other
  const op::activation relu{op::activation_kind::relu,
                            {static_cast<std::int64_t>(half / sizeof(float))}};
  constexpr std::size_t destination = 1;
  setup_op padding(plan_or_null(device_, op::any(relu), {}), destination, half,
                   setup_op::max_distance);
  padding.place_output(layout_.rings.add(buffer_kind::updated, half));
  padding.reserve(layout_.rings);
  layout_.call_bytes += missing;
  layout_.setup_ops.insert(layout_.setup_ops.begin(), std::move(padding));
}

LAYERBENCH_INLINE std::size_t buffer_layout_builder::oldest_use() const {
  std::int64_t oldest = 0;
  for (const setup_op& op : layout_.setup_ops) oldest = std::max(oldest, op.distance());
  for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
    if (layout_.positions[i].kind != buffer_kind::activations) continue;
    const operand_history history = history_of(i);
    if (history.same_as || overwritten_by(plan_, i)) continue;
    if (!history.distance && history.uses.empty()) return caches_.reuse_bytes();
    oldest = std::max(oldest, history.distance.value_or(0));
    for (const previous_use& use : history.uses) oldest = std::max(oldest, use.distance);
  }
  return static_cast<std::size_t>(oldest);
}

}  // namespace detail

LAYERBENCH_INLINE buffer_layout buffer_layout_of(compute_device& device, const any_plan& plan,
                                                 const op_in_context& what) {
  return detail::buffer_layout_builder(device, plan, what).result();
}

}  // namespace layerbench::run
