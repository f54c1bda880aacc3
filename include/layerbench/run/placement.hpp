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

#include <layerbench/op/activation.hpp>
#include <layerbench/run/cache_state.hpp>
#include <layerbench/run/device.hpp>
#include <layerbench/run/preparer.hpp>
#include <layerbench/run/window.hpp>

namespace layerbench::run {

/// Where a plan's operands lie in the windows of its calls, and what comes before each call.
struct placement {
  run::window window = {};
  std::vector<part> parts = {};  ///< of the plan's operands
  std::vector<preparer> preparers = {};
  std::size_t first_near = 0;                  ///< of the preparers
  std::size_t displaced = 0;                   ///< bytes, before that one runs
  bool settles = false;                        ///< shared caches need to be
  bool paced = false;                          ///< a turn of the rings takes as long as a step
  std::size_t code_parts = other_code.size();  ///< run before each call
  std::size_t touched = 0;                     ///< bytes touched by a call and its preparers
  std::size_t turns = 1;                       ///< windows in a ring

  /// Sets how many calls ahead each of the preparers runs, lest what is near is displaced; where
  /// calls are paced, to a part of one, by their share of a step that takes `turns_a_step` times as
  /// long as a turn. Those of a call then run in that order.
  void set_leads(double turns_a_step = 1) {
    for (std::size_t i = 0; i < preparers.size(); ++i) {
      const bool at_once = preparers[i].before_all() || (displaced > 0 && i >= first_near);
      if (at_once) continue;
      const double calls = turns_a_step * static_cast<double>(preparers[i].distance()) /
                           static_cast<double>(touched);
      const auto most = static_cast<double>(turns - 1);  // one more is the call's own window
      const double whole = std::min(most, paced ? std::floor(calls) : std::round(calls));
      preparers[i].set_lead(static_cast<std::int64_t>(whole),
                            paced ? std::min(calls - whole, 1.0) : 0);
    }
    const bool has_rest = !preparers.empty() && preparers.front().before_all();
    std::ranges::stable_sort(preparers.begin() + (has_rest ? 1 : 0),
                             preparers.begin() + static_cast<std::ptrdiff_t>(first_near),
                             std::ranges::greater{}, &preparer::earlier);
  }
};

namespace detail {

/// Places what surrounds a plan's calls.
class placer {
 public:
  placer(device& here, const any_plan& plan, const surrounded_op& what)
      : here_(here), plan_(plan), cache_(what.cache), reach_(reach_of(what)) {
    lay_out(what);
    made_.window.set_turns(made_.turns);
  }

  [[nodiscard]] placement made() && { return std::move(made_); }

 private:
  static constexpr std::size_t small_bytes = 65536;

  /// Bytes to be touched between two uses of weights.
  [[nodiscard]] std::size_t reach_of(const surrounded_op& what) const {
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
    const std::size_t known = here_.cache_bytes();
    return 4 * (known == 0 ? std::size_t{64} << 20U : known);
  }

  void lay_out(const surrounded_op& what) {
    for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
      const origin from = i < what.operands.size() ? what.operands[i] : origin{};
      if (from.same_as) {
        made_.parts.push_back(made_.parts[*from.same_as]);
        continue;
      }
      made_.touched += plan_.operands()[i].bytes;
      const bool recent = is_recent(from, i);
      const bool written = is_written(what, i);
      const bool used = needs_user(from, i, recent, written);
      made_.parts.push_back(recent ? add_recent(what.request, from, i)
                                   : add_old(i, written || used));
      if (used) add_user(what.request, from, i);
    }
    // The longest ago comes first; of equals the first source, which a producer may overwrite.
    std::ranges::stable_sort(made_.preparers, std::ranges::greater{}, &preparer::distance);
    add_rest();
    set_displaced(what);
    made_.set_leads();
  }

  /// Whether so many bytes leave something in the caches that cores have for themselves.
  [[nodiscard]] bool is_near(std::int64_t distance) const {
    return static_cast<std::size_t>(distance) < here_.core_cache_bytes();
  }

  /// Whether it takes long to read what another core wrote: its own cache may have it alone.
  [[nodiscard]] bool writer_matters() const {
    return here_.threads() > 1 && reach_ <= here_.cache_bytes();
  }

  /// The cores' own caches are filled with something else before what is near runs, where a whole
  /// step leaves nothing in them. Several times over: they do not evict the oldest first.
  void set_displaced(const surrounded_op& what) {
    const std::size_t enough = 4 * here_.core_cache_bytes();
    const bool leaves_none = static_cast<std::size_t>(what.footprint) > enough;
    const bool in_model = cache_ == cache_state::model;
    made_.displaced = what.displaced && in_model && leaves_none ? enough : 0;
    // The calls that warm up bring the rings of smaller models into the cores' own caches.
    made_.settles = what.settled && in_model && leaves_none && reach_ < beyond_caches();
    // What others on the host leave of the last cache depends on the time that passes; of steps of
    // more than twice its size it keeps little anyway.
    made_.paced = made_.settles && reach_ <= 2 * here_.cache_bytes() &&
                  here_.timing() != timing_mode::graph;  // nothing waits within one
    // The few layers of a model that stays in these caches run through about so much.
    if (!leaves_none) made_.code_parts = std::min(made_.code_parts, what.calls);
    while (made_.first_near < made_.preparers.size() &&
           !is_near(made_.preparers[made_.first_near].distance())) {
      ++made_.first_near;
    }
  }

  /// Room for an operand that a turn of the ring ages; `changes` where the call, or who runs
  /// before it, writes it.
  part add_old(std::size_t i, bool changes) {
    const plan_operand& each = plan_.operands()[i];
    if (op::needs_values(each.logical)) return made_.window.add(room::own, each.bytes);
    const op::role role = each.logical.role;
    const bool learned = role != op::role::destination && role != op::role::source;
    if (changes) {
      return made_.window.add(learned ? room::learned : room::activations, each.bytes);
    }
    return made_.window.add(learned && each.bytes <= small_bytes ? room::own : room::constants,
                            each.bytes);
  }

  /// Whether the call writes the operand, or over it.
  [[nodiscard]] bool is_written(const surrounded_op& what, std::size_t i) const {
    const auto over_it = [&](const origin& other) { return other.same_as == i; };
    return std::ranges::any_of(what.operands, over_it) ||
           plan_.operands()[i].logical.role == op::role::destination;
  }

  /// Whether an operand's earlier use has to run before the call, in models that the last cache
  /// keeps. Before a core writes what others have read it has to tell them, which takes several
  /// times as long as writing; what others wrote it has to ask them for; and what was used not long
  /// before is still there.
  [[nodiscard]] bool needs_user(const origin& from, std::size_t i, bool recent,
                                bool written) const {
    const plan_operand& each = plan_.operands()[i];
    const bool kept = cache_ == cache_state::model && reach_ <= here_.cache_bytes();
    if (!kept || !from.used || op::needs_values(each.logical)) return false;
    if (!written)
      return writer_matters() && from.used->writes && !recent && each.bytes > small_bytes;
    return writer_matters() || 2 * static_cast<std::size_t>(from.used->distance) <= reach_;
  }

  void add_user(plan_request request, const origin& from, std::size_t i) {
    request.pass = from.used->pass;
    auto plan = plan_or_null(here_, from.used->op, request);
    if (!plan) return;
    preparer user(std::move(plan), from.used->operands.front(), plan_.operands()[i].bytes,
                  from.used->distance);
    std::map<std::size_t, part> given;
    for (const std::size_t each : from.used->operands) given.emplace(each, made_.parts[i]);
    made_.touched += user.lay_out(made_.window, made_.parts[i], std::move(given));
    made_.preparers.push_back(std::move(user));
  }

  /// Room for an operand that the step has used not long before, and who does that.
  part add_recent(plan_request request, const origin& from, std::size_t i) {
    request.pass = from.pass;
    // A copy will do for what the cores' own caches have nothing of any more, or only a small part,
    // and where somebody else writes it. What matters is the producer's result: all else that it
    // writes is small, or needs values.
    std::unique_ptr<any_plan> plan;
    const bool mostly_far = plan_.operands()[i].bytes > 8 * here_.core_cache_bytes();
    if (from.producer && !mostly_far && (is_near(*from.distance) || writer_matters())) {
      plan = plan_or_null(here_, *from.producer, request);
    }
    if (plan && !is_result(*plan, from.output)) plan.reset();
    const bool planned = plan != nullptr;
    preparer writer(std::move(plan), from.output, plan_.operands()[i].bytes, *from.distance);
    const part to = made_.window.add(room::activations, writer.written_bytes());
    std::map<std::size_t, part> given;
    for (std::size_t j = 0; planned && j < from.before.size(); ++j) {
      const bool over = from.over == j;
      if (writer.needs_values(j)) continue;
      if (!from.before[j] || !(over || is_near(*from.before[j]))) continue;
      // What the producer finds in the caches decides what it leaves there. A copy is enough, and
      // is valid numbers: on older results, results of results would grow and grow.
      const std::size_t bytes = writer.operand_bytes(j);
      given.emplace(j, over ? to : made_.window.add(room::activations, bytes));
      preparer copy(nullptr, 0, bytes, *from.distance);
      made_.touched += copy.lay_out(made_.window, given.at(j)) + (over ? 0 : bytes);
      made_.preparers.push_back(std::move(copy));
    }
    made_.touched += writer.lay_out(made_.window, to, std::move(given));
    made_.preparers.push_back(std::move(writer));
    return to;
  }

  /// A ring is a whole number of windows, lest threads find in it what another one touched the last
  /// time. What is then missing of its length is memory that no call uses, written before each.
  void add_rest() {
    made_.turns = std::max<std::size_t>(1, reach_ / made_.touched);
    constexpr std::size_t grain = 4096;
    const std::size_t all = made_.turns * made_.touched;
    const std::size_t rest = (reach_ - std::min(reach_, all)) / made_.turns / grain * grain;
    if (rest == 0 || cache_ != cache_state::model) return;
    const op::activation writes{op::activation_kind::relu,
                                {static_cast<std::int64_t>(rest / 2 / sizeof(float))}};
    constexpr std::size_t destination = 1;
    preparer writer(plan_or_null(here_, op::any(writes), {}), destination, rest / 2,
                    preparer::longest_ago);
    writer.lay_out(made_.window, made_.window.add(room::activations, rest / 2));
    made_.touched += rest;
    made_.preparers.insert(made_.preparers.begin(), std::move(writer));
  }

  /// Whether operand `i` was used so short a time ago that a turn of the ring does not stand for
  /// it. What is written counts as old, unless it is in the memory of another operand; so do small
  /// learned values, which need valid numbers.
  [[nodiscard]] bool is_recent(const origin& from, std::size_t i) const {
    if (cache_ != cache_state::model || !from.distance) return false;
    const plan_operand& each = plan_.operands()[i];
    const op::role role = each.logical.role;
    if (role == op::role::destination || op::needs_values(each.logical)) return false;
    if (role != op::role::source && each.bytes <= small_bytes) return false;
    return 2 * static_cast<std::size_t>(*from.distance) <= reach_;
  }

  /// Whether that is the first operand that the plan writes.
  [[nodiscard]] static bool is_result(const any_plan& plan, std::size_t operand) {
    const auto role = [](const plan_operand& each) { return each.logical.role; };
    const auto first = std::ranges::find(plan.operands(), op::role::destination, role);
    return first - plan.operands().begin() == static_cast<std::ptrdiff_t>(operand);
  }

  device& here_;
  const any_plan& plan_;
  cache_state cache_;
  std::size_t reach_;  ///< bytes between two uses of weights, as far as the state asks for it
  placement made_;
};

}  // namespace detail

/// As rotation says.
[[nodiscard]] inline placement placement_of(device& here, const any_plan& plan,
                                            const surrounded_op& what) {
  return detail::placer(here, plan, what).made();
}

}  // namespace layerbench::run
