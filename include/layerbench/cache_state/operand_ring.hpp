// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/buffer_layout.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/ring_slot.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// Calls of a plan on operands that move round rings, so that each call finds its operands in the
/// caches as far as the state says. What the step did not use before was last touched one model's
/// footprint of bytes ago. The rest is written by the plans that write it in the model, untimed, as
/// long before the call as there, but just before it where that is less than the cores' own caches
/// hold; or copied, where it was only read. What a call needs beside its operands, its code above
/// all, was last used a step ago, too: before the last of these plans run, the cores' own caches
/// are filled with something else.
class operand_ring {
 public:
  /// `plan` must outlive this. `seed` is of the test data of small operands.
  operand_ring(device_context& memory, const any_plan& plan, const op_in_context& what,
               std::uint64_t seed)
      : memory_(memory),
        plan_(plan),
        cache_(what.cache),
        placed_(buffer_layout_of(memory.device(), plan, what)) {
    set_slots();
    fill_own(seed);
  }

  /// How many calls may be made ready at once. One in a model's state: a second would find the code
  /// of the first, and less of its own sources. Of those that are recorded no more than a ring has
  /// windows, lest one finds what another one has just used.
  [[nodiscard]] std::int64_t most_calls() const { return most_calls_; }

  /// Seconds of the model's step, as far as known, before calls are settled: a turn of the rings
  /// takes no less where others evict from shared caches in the meantime, unless that is so long
  /// that they have evicted all.
  void set_step_seconds(double seconds) {
    if (!placed_.paced || seconds == step_) return;
    step_ = seconds;
    const double turn = std::min(seconds, longest_turn);
    period_ = turn / static_cast<double>(placed_.turns);
    placed_.set_leads(turn > 0 ? seconds / turn : 1);
  }

  /// Goes through the turn of the rings before the next call: reads what it used, and writes what
  /// its calls would have written for the next ones. Caches that keep what was used so long ago
  /// then hold what they hold in an endless loop of steps, whatever else was measured before. Where
  /// they keep nothing for so long, calls that warm up do as well, if there are any.
  void warm_shared_cache(bool warm_up_follows = true) {
    set_memory();
    const bool reads = placed_.warms_shared_cache || !warm_up_follows;
    const auto turns = reads ? static_cast<std::int64_t>(placed_.turns) : 0;
    std::int64_t most = turns;
    for (const setup_op& element : placed_.setup_ops) most = std::max(most, element.lead());
    std::vector<device_context::piece> unread;
    for (std::int64_t back = most; back > 0; --back) {
      const auto due = [&](const setup_op& item) { return item.lead() >= back; };
      if (back <= turns) add_window(unread, next_ + turns - back);
      if (period_ > 0 || std::ranges::any_of(placed_.setup_ops, due)) {
        due_ = std::max(stopwatch::now(), due_ + period_);
        wait_until(due_);
        memory_.read(std::exchange(unread, {}));
      }
      for (setup_op& op : placed_.setup_ops) {
        if (due(op)) op.run(memory_, placed_.ring_slot, next_ - back);
      }
    }
    memory_.read(unread);
    // Calls go on from the last of these, however long it took.
    shared_cache_warmed_ = period_ > 0 && most > 0 ? due_ : stopwatch::now();
    calls_since_ = 0;
  }

  /// Brings the operands of the next calls into their state; untimed.
  void set_up(std::int64_t calls) {
    set_memory();
    double ahead = 0;
    for (const setup_op& op : placed_.setup_ops) ahead = std::max(ahead, op.earlier());
    due_ = std::max(stopwatch::now() + ahead * period_, due_ + period_);
    const std::int64_t different = std::min(calls, slots_wanted_);
    calls_since_ += different;
    const std::span all(placed_.setup_ops);
    for (std::int64_t i = 0; i < different; ++i) {
      run(all.first(placed_.first_near), next_ + i);
      wait_until(due_);
      memory_.evict_private_caches(placed_.private_evicted);
      run(all.subspan(placed_.first_near), next_ + i);
      place(static_cast<std::size_t>(i), next_ + i);
    }
    memory_.device().synchronize();
    if (cache_ == cache_state::model) memory_.evict_instruction_cache(placed_.filler_blocks);
    slots_.front()->expect(calls);  // those who take part in them have no other slots
  }

  /// Runs the calls that were made ready, to their end; but the device's own clock, where it has
  /// one, waits for that.
  void call(std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) {
      slots_[static_cast<std::size_t>(i % slots_wanted_)]->run();
    }
    memory_.device().finish();
    next_ += std::min(calls, slots_wanted_);
  }

  // For who records calls, in place of all that (see recorded_calls).

  /// Makes the first call, and brings all memory about that calls need: none may be allocated while
  /// they are recorded.
  void call_first() {
    set_memory();
    enqueue_ready(0);
    enqueue(0);
    memory_.device().synchronize();
  }
  /// Enqueues what comes before that call.
  void enqueue_ready(std::int64_t call) {
    for (setup_op& op : placed_.setup_ops) op.run(memory_, placed_.ring_slot, call);
  }
  /// Enqueues that call.
  void enqueue(std::int64_t call) {
    place(0, call);
    slots_.front()->run();
  }
  /// Enqueues what so many calls before the first one write ahead for the first `calls`;
  /// `pass(some)` stands for what is touched by some of them that write nothing.
  template <class Pass>
  void enqueue_ahead(std::int64_t left_out, std::int64_t calls, const Pass& pass) {
    std::int64_t passed = 0;
    for (std::int64_t back = left_out; back > 0; --back, ++passed) {
      for (setup_op& op : placed_.setup_ops) {
        const std::int64_t of = op.lead() - back;
        if (of < 0 || of >= calls) continue;
        if (passed > 0) pass(std::exchange(passed, 0));
        op.run(memory_, placed_.ring_slot, -back);
      }
    }
    if (passed > 0) pass(passed);
  }
  /// Windows in a ring.
  [[nodiscard]] std::int64_t turns() const { return static_cast<std::int64_t>(placed_.turns); }
  /// Bytes that a call and what comes before it touch.
  [[nodiscard]] std::size_t window_bytes() const { return placed_.touched; }

  /// Bytes between two uses of weights, and of memory that is written.
  [[nodiscard]] std::size_t ring_bytes() const {
    std::size_t sum = 0;
    for (const buffer_kind in : shared_buffer_kinds) sum += placed_.ring_slot.length(in);
    return sum;
  }
  /// Bytes of sources, and of what stands for the rest of the model, written before each call.
  [[nodiscard]] std::size_t touched_bytes() const {
    std::size_t sum = 0;
    for (const setup_op& op : placed_.setup_ops) sum += op.bytes();
    return sum;
  }
  /// Bytes of something else that the cores' own caches are filled with before each call.
  [[nodiscard]] std::size_t evicted_bytes() const { return placed_.private_evicted; }

  /// Seconds of a turn of the rings since they were settled: between two uses of weights, and of
  /// memory that is written.
  [[nodiscard]] double turn_seconds() const {
    if (calls_since_ == 0) return 0;
    const double calls = static_cast<double>(calls_since_);
    return (due_ - shared_cache_warmed_) / calls * static_cast<double>(placed_.turns);
  }

 private:
  static constexpr std::int64_t most_slots = 64;
  /// Seconds after which nothing was left of what is not used, on two hosts (docs/measuring.md).
  static constexpr double longest_turn = 0.025;

  void run(std::span<setup_op> some, std::int64_t call) {
    for (setup_op& op : some) {
      wait_until(due_ - op.earlier() * period_);
      op.run(memory_, placed_.ring_slot, call);
    }
  }

  void add_window(std::vector<device_context::piece>& to, std::int64_t call) const {
    for (const buffer_kind in : shared_buffer_kinds) {
      if (placed_.ring_slot.size(in) == 0) continue;
      to.push_back({placed_.ring_slot.at({in, 0}, call), placed_.ring_slot.size(in)});
    }
  }

  static void wait_until(double time) {
    while (stopwatch::now() < time) {
    }
  }

  /// Rows take turns in the device's memory, which may move in between.
  void set_memory() {
    for (const buffer_kind in : shared_buffer_kinds) {
      placed_.ring_slot.set_memory(
          in, memory_.memory(in, placed_.ring_slot.length(in), cache_ == cache_state::hot));
    }
  }

  void set_slots() {
    const bool alone = cache_ == cache_state::model;
    const bool moves = placed_.turns > 1;
    slots_wanted_ = moves && !alone ? most_slots : 1;
    most_calls_ = moves || alone ? slots_wanted_ : INT64_MAX;
    const timing_mode how = memory_.device().timing();
    if (how == timing_mode::single) most_calls_ = 1;
    if (how == timing_mode::graph) most_calls_ = moves ? std::min(turns(), most_slots) : most_slots;
  }

  /// Small weights get valid values, and whatever needs them: a variance is not just any number.
  void fill_own(std::uint64_t seed) {
    const std::size_t size = placed_.ring_slot.size(buffer_kind::own);
    if (size == 0) return;
    own_ = memory_.device().allocate(placed_.ring_slot.length(buffer_kind::own));
    placed_.ring_slot.set_memory(buffer_kind::own, own_->data());
    auto* first = static_cast<std::byte*>(own_->data());
    fill_operands(plan_, placed_.slices, first, seed);
    for (const setup_op& op : placed_.setup_ops) op.fill_own(first, seed);
    for (std::size_t done = size; done < placed_.ring_slot.length(buffer_kind::own); done += size) {
      memory_.device().copy(first + done, first, size);
    }
  }

  void place(std::size_t slot, std::int64_t call) {
    const std::vector<address> places = placed_.ring_slot.at(placed_.slices, call);
    if (slot < slots_.size()) {
      slots_[slot]->place(places);
    } else {
      slots_.push_back(plan_.bind(places, memory_.workspace(plan_.workspace_bytes())));
    }
  }

  device_context& memory_;
  const any_plan& plan_;
  cache_state cache_;
  buffer_layout placed_;
  std::unique_ptr<device_memory> own_;
  std::vector<std::unique_ptr<bound_plan>> slots_;
  std::int64_t slots_wanted_ = 1;
  std::int64_t most_calls_ = 1;
  std::int64_t next_ = 0;
  double step_ = 0;    ///< seconds of the model's
  double period_ = 0;  ///< seconds from call to call, at least
  double due_ = 0;     ///< when the last call was
  double shared_cache_warmed_ = 0;
  std::int64_t calls_since_ = 0;
};

}  // namespace layerbench::run
