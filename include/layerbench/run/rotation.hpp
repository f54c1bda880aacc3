// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/model/reuse.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/device.hpp>
#include <layerbench/run/preparer.hpp>
#include <layerbench/run/test_data.hpp>
#include <layerbench/run/window.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::run {

/// State of the caches before each call. hot: the same operands every call. model: each operand as
/// it is in the model, by the bytes that the model touches between two uses of it. cold: nothing in
/// any cache.
enum class cache_state { hot, model, cold };

}  // namespace layerbench::run

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::run::cache_state>{"hot", "model", "cold"};

namespace layerbench::run {

/// An operand before a call: how many bytes were touched since it was used last (nothing: all that
/// a step touches), and which op of the same step wrote it last, if any did.
struct origin {
  std::optional<std::int64_t> distance = {};
  std::optional<op::any> producer = {};
  op::pass pass = op::pass::fwd;
  std::size_t output = 0;                ///< which of the producer's operands it was
  std::optional<std::size_t> over = {};  ///< the one that the producer wrote over
  /// By operand of the producer: how many bytes before it that was used, where it is a source.
  std::vector<std::optional<std::int64_t>> before = {};
  std::optional<std::size_t> same_as =
      {};  ///< an earlier operand of the call, in whose memory it is
};

/// What there is to bring into state.
struct surrounded_op {
  plan_request request = {};
  cache_state cache = cache_state::hot;
  std::int64_t footprint = 0;         ///< of the model's step
  std::vector<origin> operands = {};  ///< where nothing is said they are old
  std::size_t calls = SIZE_MAX;       ///< of the model's step
  bool displaced = true;              ///< what a call needs beside its operands is old, too
};

/// Calls of a plan on operands that move round rings, so that each call finds its operands in the
/// caches as far as the state says. What the step did not use before was last touched one model's
/// footprint of bytes ago. The rest is written by the plans that write it in the model, untimed, as
/// long before the call as there, but just before it where that is less than the cores' own caches
/// hold; or copied, where it was only read. What a call needs beside its operands, its code above
/// all, was last used a step ago, too: before the last of these plans run, the cores' own caches
/// are filled with something else.
class rotation {
 public:
  /// `plan` must outlive this. `seed` is of the test data of small operands.
  rotation(arena& memory, const any_plan& plan, const surrounded_op& what, std::uint64_t seed)
      : memory_(memory), plan_(plan), cache_(what.cache), reach_(reach_of(what)) {
    lay_out(what);
    set_lengths();
    fill_own(seed);
  }

  /// How many calls may be made ready at once. One in a model's state: a second would find the code
  /// of the first, and less of its own sources.
  [[nodiscard]] std::int64_t most_calls() const { return most_calls_; }

  /// Brings the operands of the next calls into their state; untimed.
  void ready(std::int64_t calls) {
    const bool hot = cache_ == cache_state::hot;
    window_.set_memory(room::constants, memory_.constants(window_.length(room::constants), hot));
    window_.set_memory(room::activations,
                       memory_.activations(window_.length(room::activations), hot));
    const std::int64_t different = std::min(calls, slots_wanted_);
    for (std::int64_t i = 0; i < different; ++i) {
      const std::span all(preparers_);
      for (preparer& each : all.first(first_near_)) each.run(memory_, window_, next_ + i);
      memory_.displace(displaced_);
      for (preparer& each : all.subspan(first_near_)) each.run(memory_, window_, next_ + i);
      place(static_cast<std::size_t>(i), next_ + i);
    }
    memory_.here().synchronize();
    if (cache_ == cache_state::model) memory_.run_other_code(code_parts_);
  }

  /// Runs the calls that were made ready, to their end.
  void call(std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) {
      slots_[static_cast<std::size_t>(i % slots_wanted_)]->run();
    }
    memory_.here().synchronize();
    next_ += std::min(calls, slots_wanted_);
  }

  /// Bytes between two uses of weights, and of memory that is written.
  [[nodiscard]] std::size_t ring_bytes() const {
    return window_.length(room::constants) + window_.length(room::activations);
  }
  /// Bytes of sources, and of what stands for the rest of the model, written before each call.
  [[nodiscard]] std::size_t touched_bytes() const {
    std::size_t sum = 0;
    for (const preparer& each : preparers_) sum += each.bytes();
    return sum;
  }
  /// Bytes of something else that the cores' own caches are filled with before each call.
  [[nodiscard]] std::size_t displaced_bytes() const { return displaced_; }

 private:
  static constexpr std::size_t small_bytes = 65536;
  static constexpr std::int64_t most_slots = 64;
  static constexpr std::int64_t before_all = INT64_MAX;  ///< as a preparer's distance

  /// Bytes to be touched between two uses of weights.
  [[nodiscard]] std::size_t reach_of(const surrounded_op& what) const {
    const std::size_t known = memory_.here().cache_bytes();
    // More than that survives in no cache.
    const std::size_t beyond_caches = 4 * (known == 0 ? std::size_t{64} << 20U : known);
    switch (what.cache) {
      case cache_state::hot: return 0;
      case cache_state::model:
        return std::min(static_cast<std::size_t>(what.footprint), beyond_caches);
      case cache_state::cold: break;
    }
    return beyond_caches;
  }

  void lay_out(const surrounded_op& what) {
    for (std::size_t i = 0; i < plan_.operands().size(); ++i) {
      const origin from = i < what.operands.size() ? what.operands[i] : origin{};
      if (from.same_as) {
        parts_.push_back(parts_[*from.same_as]);
        continue;
      }
      touched_ += plan_.operands()[i].bytes;
      parts_.push_back(is_recent(from, i) ? add_recent(what.request, from, i) : add_old(what, i));
    }
    // The longest ago comes first; of equals the first source, which a producer may overwrite.
    std::ranges::stable_sort(preparers_, std::ranges::greater{}, &preparer::distance);
    add_rest();
    set_displaced(what);
    set_leads();
  }

  /// Whether so many bytes leave something in the caches that cores have for themselves.
  [[nodiscard]] bool is_near(std::int64_t distance) const {
    return static_cast<std::size_t>(distance) < memory_.here().core_cache_bytes();
  }

  /// The cores' own caches are filled with something else before what is near runs, where a whole
  /// step leaves nothing in them. Several times over: they do not evict the oldest first.
  void set_displaced(const surrounded_op& what) {
    const std::size_t enough = 4 * memory_.here().core_cache_bytes();
    const bool leaves_none = static_cast<std::size_t>(what.footprint) > enough;
    displaced_ = what.displaced && cache_ == cache_state::model && leaves_none ? enough : 0;
    // The few layers of a model that stays in these caches run through about so much.
    if (!leaves_none) code_parts_ = std::min(code_parts_, what.calls);
    while (first_near_ < preparers_.size() && !is_near(preparers_[first_near_].distance())) {
      ++first_near_;
    }
  }

  /// Sets how many calls ahead each of the preparers runs, lest what is near is displaced.
  void set_leads() {
    for (std::size_t i = 0; i < preparers_.size(); ++i) {
      preparer& each = preparers_[i];
      const bool at_once = each.distance() == before_all || (displaced_ > 0 && i >= first_near_);
      const double calls = static_cast<double>(each.distance()) / static_cast<double>(touched_);
      each.set_lead(at_once ? 0 : std::llround(calls));
    }
  }

  /// Room for an operand that a turn of the ring ages.
  part add_old(const surrounded_op& what, std::size_t i) {
    const plan_operand& each = plan_.operands()[i];
    const auto over_it = [&](const origin& other) { return other.same_as == i; };
    const bool overwritten = std::ranges::any_of(what.operands, over_it);
    if (overwritten || each.logical.role == op::role::destination) {
      return window_.add(room::activations, each.bytes);
    }
    const bool learned = each.logical.role != op::role::source;
    return window_.add(learned && each.bytes <= small_bytes ? room::own : room::constants,
                       each.bytes);
  }

  /// Room for an operand that the step has used not long before, and who does that.
  part add_recent(plan_request request, const origin& from, std::size_t i) {
    request.pass = from.pass;
    // Where it lacks the producer, somebody else writes that in the model, too.
    auto plan = from.producer ? plan_or_null(memory_.here(), *from.producer, request) : nullptr;
    const bool planned = plan != nullptr;
    preparer writer(std::move(plan), from.output, plan_.operands()[i].bytes, *from.distance);
    const part to = window_.add(room::activations, writer.written_bytes());
    std::map<std::size_t, part> given;
    for (std::size_t j = 0; planned && j < from.before.size(); ++j) {
      const bool over = from.over == j;
      if (!from.before[j] || !(over || is_near(*from.before[j]))) continue;
      // What the producer finds in the caches decides what it leaves there. A copy is enough, and
      // is valid numbers: on older results, results of results would grow and grow.
      const std::size_t bytes = writer.operand_bytes(j);
      given.emplace(j, over ? to : window_.add(room::activations, bytes));
      preparer copy(nullptr, 0, bytes, *from.distance);
      touched_ += copy.lay_out(window_, given.at(j)) + (over ? 0 : bytes);
      preparers_.push_back(std::move(copy));
    }
    touched_ += writer.lay_out(window_, to, std::move(given));
    preparers_.push_back(std::move(writer));
    return to;
  }

  /// A ring is a whole number of windows, lest threads find in it what another one touched the last
  /// time. What is then missing of its length is memory that no call uses, written before each.
  void add_rest() {
    turns_ = std::max<std::size_t>(1, reach_ / touched_);
    constexpr std::size_t grain = 4096;
    const std::size_t all = turns_ * touched_;
    const std::size_t rest = (reach_ - std::min(reach_, all)) / turns_ / grain * grain;
    if (rest == 0 || cache_ != cache_state::model) return;
    const op::activation writes{op::activation_kind::relu,
                                {static_cast<std::int64_t>(rest / 2 / sizeof(float))}};
    constexpr std::size_t destination = 1;
    preparer writer(plan_or_null(memory_.here(), op::any(writes), {}), destination, rest / 2,
                    before_all);
    writer.lay_out(window_, window_.add(room::activations, rest / 2));
    touched_ += rest;
    preparers_.insert(preparers_.begin(), std::move(writer));
  }

  /// Whether operand `i` was used so short a time ago that a turn of the ring does not stand for
  /// it. What is written counts as old, unless it is in the memory of another operand; so do small
  /// learned values, which need valid numbers.
  [[nodiscard]] bool is_recent(const origin& from, std::size_t i) const {
    if (cache_ != cache_state::model || !from.distance) return false;
    const plan_operand& each = plan_.operands()[i];
    const op::role role = each.logical.role;
    if (role == op::role::destination) return false;
    if (role != op::role::source && each.bytes <= small_bytes) return false;
    return 2 * static_cast<std::size_t>(*from.distance) <= reach_;
  }

  void set_lengths() {
    window_.set_turns(turns_);
    const bool alone = cache_ == cache_state::model;
    const bool moves = turns_ > 1;
    slots_wanted_ = moves && !alone ? most_slots : 1;
    most_calls_ = moves || alone ? slots_wanted_ : INT64_MAX;
  }

  /// Small weights and statistics get valid values: a variance is not just any number.
  void fill_own(std::uint64_t seed) {
    const std::size_t size = window_.size(room::own);
    if (size == 0) return;
    own_ = memory_.here().allocate(window_.length(room::own));
    window_.set_memory(room::own, own_->data());
    auto* first = static_cast<std::byte*>(own_->data());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].in != room::own) continue;
      plan_.upload(i, random_values(plan_.operands()[i].logical, operand_seed(seed, i)),
                   first + parts_[i].offset);
    }
    for (std::size_t done = size; done < window_.length(room::own); done += size) {
      memory_.here().copy(first + done, first, size);
    }
  }

  void place(std::size_t slot, std::int64_t call) {
    const std::vector<address> places = window_.at(parts_, call);
    if (slot < slots_.size()) {
      slots_[slot]->place(places);
    } else {
      slots_.push_back(plan_.bind(places, memory_.workspace(plan_.workspace_bytes())));
    }
  }

  arena& memory_;
  const any_plan& plan_;
  cache_state cache_;
  std::size_t reach_;        ///< bytes between two uses of weights, as far as the state asks for it
  std::vector<part> parts_;  ///< of the plan's operands
  std::vector<preparer> preparers_;
  std::size_t first_near_ = 0;                  ///< of the preparers
  std::size_t displaced_ = 0;                   ///< bytes, before that one runs
  std::size_t code_parts_ = other_code.size();  ///< run before each call
  std::size_t touched_ = 0;                     ///< bytes touched by a call and its preparers
  std::size_t turns_ = 1;                       ///< windows in a ring
  window window_;
  std::unique_ptr<device_memory> own_;
  std::vector<std::unique_ptr<bound_plan>> slots_;
  std::int64_t slots_wanted_ = 1;
  std::int64_t most_calls_ = 1;
  std::int64_t next_ = 0;
};

}  // namespace layerbench::run
