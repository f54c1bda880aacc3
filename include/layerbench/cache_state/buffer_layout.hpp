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
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/ring_slot.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench::run {

/// Where a plan's operands lie in the windows of its calls, and what comes before each call.
struct buffer_layout {
  run::ring_slot ring_slot = {};
  std::vector<slice> slices = {};  ///< of the plan's operands
  std::vector<setup_op> setup_ops = {};
  std::size_t first_near = 0;       ///< of the preparers
  std::size_t private_evicted = 0;  ///< bytes, before that one runs
  bool warms_shared_cache = false;  ///< shared caches need to be
  bool paced = false;               ///< a turn of the rings takes as long as a step
  std::size_t filler_blocks = instruction_cache_filler.size();  ///< run before each call
  std::size_t touched = 0;  ///< bytes touched by a call and its preparers
  std::size_t turns = 1;    ///< windows in a ring

  /// Sets how many calls ahead each of the preparers runs, lest what is near is displaced; where
  /// calls are paced, to a part of one, by their share of a step that takes `turns_a_step` times as
  /// long as a turn. Those of a call then run in that order.
  void set_leads(double turns_a_step = 1) {
    for (std::size_t i = 0; i < setup_ops.size(); ++i) {
      const bool at_once = setup_ops[i].before_all() || (private_evicted > 0 && i >= first_near);
      if (at_once) continue;
      const double calls = turns_a_step * static_cast<double>(setup_ops[i].distance()) /
                           static_cast<double>(touched);
      const auto most = static_cast<double>(turns - 1);  // one more is the call's own window
      const double whole = std::min(most, paced ? std::floor(calls) : std::round(calls));
      setup_ops[i].set_lead(static_cast<std::int64_t>(whole),
                            paced ? std::min(calls - whole, 1.0) : 0);
    }
    const bool has_rest = !setup_ops.empty() && setup_ops.front().before_all();
    std::ranges::stable_sort(setup_ops.begin() + (has_rest ? 1 : 0),
                             setup_ops.begin() + static_cast<std::ptrdiff_t>(first_near),
                             std::ranges::greater{}, &setup_op::earlier);
  }
};

namespace detail {

/// Places what surrounds a plan's calls.
class buffer_layout_builder {
 public:
  buffer_layout_builder(compute_device& device, const any_plan& plan, const op_in_context& what)
      : device_(device), plan_(plan), cache_(what.cache), reach_(reach_of(what)) {
    lay_out(what);
    layout_.ring_slot.set_turns(layout_.turns);
  }

  [[nodiscard]] buffer_layout result() && { return std::move(layout_); }

 private:
  static constexpr std::size_t small_bytes = 65536;

  /// Bytes to be touched between two uses of weights.
  [[nodiscard]] std::size_t reach_of(const op_in_context& what) const {
    switch (what.cache) {
      case cache_state::hot: return 0;
      case cache_state::model:
        return std::min(static_cast<std::size_t>(what.footprint), beyond_caches());
      case cache_state::cold: break;
    }
    return beyond_caches();
  }
  /// More than that survives in no cache.
  [[nodiscard]] std::size_t beyond_caches() const {
    const std::size_t known = device_.cache_bytes();
    return 4 * (known == 0 ? std::size_t{64} << 20U : known);
  }

  void lay_out(const op_in_context& what) {
    for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
      const operand_history from = i < what.operands.size() ? what.operands[i] : operand_history{};
      if (from.same_as) {
        layout_.slices.push_back(layout_.slices[*from.same_as]);
        continue;
      }
      layout_.touched += plan_.operands()[i].bytes;
      const bool recent = is_recent(from, i);
      const bool written = is_written(what, i);
      const bool used = needs_user(from, i, recent, written);
      layout_.slices.push_back(recent ? add_recent(what.request, from, i)
                                      : add_old(i, written || used));
      if (used) add_user(what.request, from, i);
    }
    // The longest ago comes first; of equals the first source, which a producer may overwrite.
    std::ranges::stable_sort(layout_.setup_ops, std::ranges::greater{}, &setup_op::distance);
    add_rest();
    set_eviction(what);
    layout_.set_leads();
  }

  /// Whether so many bytes leave something in the caches that cores have for themselves.
  [[nodiscard]] bool is_near(std::int64_t distance) const {
    return static_cast<std::size_t>(distance) < device_.core_cache_bytes();
  }

  /// Whether it takes long to read what another core wrote: its own cache may have it alone.
  [[nodiscard]] bool writer_matters() const {
    return device_.threads() > 1 && reach_ <= device_.cache_bytes();
  }

  /// The cores' own caches are filled with something else before what is near runs, where a whole
  /// step leaves nothing in them. Several times over: they do not evict the oldest first.
  void set_eviction(const op_in_context& what) {
    const std::size_t enough = 4 * device_.core_cache_bytes();
    const bool leaves_none = static_cast<std::size_t>(what.footprint) > enough;
    const bool in_model = cache_ == cache_state::model;
    layout_.private_evicted = what.private_evicted && in_model && leaves_none ? enough : 0;
    // The calls that warm up bring the rings of smaller models into the cores' own caches.
    layout_.warms_shared_cache =
        what.shared_cache_warmed && in_model && leaves_none && reach_ < beyond_caches();
    // What others on the host leave of the last cache depends on the time that passes; of steps of
    // more than twice its size it keeps little anyway.
    layout_.paced = layout_.warms_shared_cache && reach_ <= 2 * device_.cache_bytes() &&
                    device_.timing() != timing_mode::graph;  // nothing waits within one
    // The few layers of a model that stays in these caches run through about so much.
    if (!leaves_none) layout_.filler_blocks = std::min(layout_.filler_blocks, what.calls);
    while (layout_.first_near < layout_.setup_ops.size() &&
           !is_near(layout_.setup_ops[layout_.first_near].distance())) {
      ++layout_.first_near;
    }
  }

  /// Room for an operand that a turn of the ring ages; `changes` where the call, or who runs
  /// before it, writes it.
  slice add_old(std::size_t i, bool changes) {
    const plan_operand& operand = plan_.operands()[i];
    if (op::needs_values(operand.logical))
      return layout_.ring_slot.add(buffer_kind::own, operand.bytes);
    const op::role role = operand.logical.role;
    const bool learned = role != op::role::destination && role != op::role::source;
    if (changes) {
      return layout_.ring_slot.add(learned ? buffer_kind::learned : buffer_kind::activations,
                                   operand.bytes);
    }
    return layout_.ring_slot.add(
        learned && operand.bytes <= small_bytes ? buffer_kind::own : buffer_kind::constants,
        operand.bytes);
  }

  /// Whether the call writes the operand, or over it.
  [[nodiscard]] bool is_written(const op_in_context& what, std::size_t i) const {
    const auto over_it = [&](const operand_history& other) { return other.same_as == i; };
    return std::ranges::any_of(what.operands, over_it) ||
           plan_.operands()[i].logical.role == op::role::destination;
  }

  /// Whether an operand's earlier use has to run before the call, in models that the last cache
  /// keeps. Before a core writes what others have read it has to tell them, which takes several
  /// times as long as writing; what others wrote it has to ask them for; and what was used not long
  /// before is still there.
  [[nodiscard]] bool needs_user(const operand_history& from, std::size_t i, bool recent,
                                bool written) const {
    const plan_operand& operand = plan_.operands()[i];
    const bool kept = cache_ == cache_state::model && reach_ <= device_.cache_bytes();
    if (!kept || !from.used || op::needs_values(operand.logical)) return false;
    if (!written)
      return writer_matters() && from.used->writes && !recent && operand.bytes > small_bytes;
    return writer_matters() || 2 * static_cast<std::size_t>(from.used->distance) <= reach_;
  }

  void add_user(plan_request request, const operand_history& from, std::size_t i) {
    request.pass = from.used->pass;
    auto plan = plan_or_null(device_, from.used->op, request);
    if (!plan) return;
    setup_op user(std::move(plan), from.used->operands.front(), plan_.operands()[i].bytes,
                  from.used->distance);
    std::map<std::size_t, slice> given;
    for (const std::size_t operand : from.used->operands) given.emplace(operand, layout_.slices[i]);
    layout_.touched += user.lay_out(layout_.ring_slot, layout_.slices[i], std::move(given));
    layout_.setup_ops.push_back(std::move(user));
  }

  /// Room for an operand that the step has used not long before, and who does that.
  slice add_recent(plan_request request, const operand_history& from, std::size_t i) {
    request.pass = from.pass;
    // A copy will do for what the cores' own caches have nothing of any more, or only a small part,
    // and where somebody else writes it. What matters is the producer's result: all else that it
    // writes is small, or needs values.
    std::unique_ptr<any_plan> plan;
    const bool mostly_far = plan_.operands()[i].bytes > 8 * device_.core_cache_bytes();
    if (from.producer && !mostly_far && (is_near(*from.distance) || writer_matters())) {
      plan = plan_or_null(device_, *from.producer, request);
    }
    if (plan && !is_result(*plan, from.output)) plan.reset();
    const bool planned = plan != nullptr;
    setup_op writer(std::move(plan), from.output, plan_.operands()[i].bytes, *from.distance);
    const slice to = layout_.ring_slot.add(buffer_kind::activations, writer.written_bytes());
    std::map<std::size_t, slice> given;
    for (std::size_t j = 0; planned && j < from.before.size(); ++j) {
      const bool over = from.over == j;
      if (writer.needs_values(j)) continue;
      if (!from.before[j] || !(over || is_near(*from.before[j]))) continue;
      // What the producer finds in the caches decides what it leaves there. A copy is enough, and
      // is valid numbers: on older results, results of results would grow and grow.
      const std::size_t bytes = writer.operand_bytes(j);
      given.emplace(j, over ? to : layout_.ring_slot.add(buffer_kind::activations, bytes));
      setup_op copy(nullptr, 0, bytes, *from.distance);
      layout_.touched += copy.lay_out(layout_.ring_slot, given.at(j)) + (over ? 0 : bytes);
      layout_.setup_ops.push_back(std::move(copy));
    }
    layout_.touched += writer.lay_out(layout_.ring_slot, to, std::move(given));
    layout_.setup_ops.push_back(std::move(writer));
    return to;
  }

  /// A ring is a whole number of windows, lest threads find in it what another one touched the last
  /// time. What is then missing of its length is memory that no call uses, written before each.
  void add_rest() {
    layout_.turns = std::max<std::size_t>(1, reach_ / layout_.touched);
    constexpr std::size_t grain = 4096;
    const std::size_t all = layout_.turns * layout_.touched;
    const std::size_t rest = (reach_ - std::min(reach_, all)) / layout_.turns / grain * grain;
    if (rest == 0 || cache_ != cache_state::model) return;
    const op::activation writes{op::activation_kind::relu,
                                {static_cast<std::int64_t>(rest / 2 / sizeof(float))}};
    constexpr std::size_t destination = 1;
    setup_op writer(plan_or_null(device_, op::any(writes), {}), destination, rest / 2,
                    setup_op::longest_ago);
    writer.lay_out(layout_.ring_slot, layout_.ring_slot.add(buffer_kind::activations, rest / 2));
    layout_.touched += rest;
    layout_.setup_ops.insert(layout_.setup_ops.begin(), std::move(writer));
  }

  /// Whether operand `i` was used so short a time ago that a turn of the ring does not stand for
  /// it. What is written counts as old, unless it is in the memory of another operand; so do small
  /// learned values, which need valid numbers.
  [[nodiscard]] bool is_recent(const operand_history& from, std::size_t i) const {
    if (cache_ != cache_state::model || !from.distance) return false;
    const plan_operand& operand = plan_.operands()[i];
    const op::role role = operand.logical.role;
    if (role == op::role::destination || op::needs_values(operand.logical)) return false;
    if (role != op::role::source && operand.bytes <= small_bytes) return false;
    return 2 * static_cast<std::size_t>(*from.distance) <= reach_;
  }

  /// Whether that is the first operand that the plan writes.
  [[nodiscard]] static bool is_result(const any_plan& plan, std::size_t operand) {
    const auto role = [](const plan_operand& item) { return item.logical.role; };
    const auto first = std::ranges::find(plan.operands(), op::role::destination, role);
    return first - plan.operands().begin() == static_cast<std::ptrdiff_t>(operand);
  }

  compute_device& device_;
  const any_plan& plan_;
  cache_state cache_;
  std::size_t reach_;  ///< bytes between two uses of weights, as far as the state asks for it
  buffer_layout layout_;
};

}  // namespace detail

/// As rotation says.
[[nodiscard]] inline buffer_layout buffer_layout_of(compute_device& device, const any_plan& plan,
                                                    const op_in_context& what) {
  return detail::buffer_layout_builder(device, plan, what).result();
}

}  // namespace layerbench::run
