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
#include <layerbench/cache_state/call_setup.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

/// Calls of a plan, each of which finds its operands in the caches where `cache_state` says.
///
/// The operands move round rings: each call uses the next slot. The rings are as long as the bytes
/// that the model's step touches, so an operand was last used one step ago, as weights are. Where
/// the step writes the same memory several times, the ring of activations is as long as this
/// memory.
///
/// Once before a measurement, untimed, warm_shared_cache():
///   1. reads all slots in the order in which calls use them, and writes what calls on them would
///      have written, so that the last-level cache holds what it holds in an endless loop of steps.
///      It reads them several times where results are read again.
///
/// Before each timed call, untimed, set_up():
///   2. reads the results of the previous call, as the model's next layers do, since some caches
///      keep only what was used again; not on a GPU, and not in memory that activations share;
///   3. runs the setup ops of longer ago: those that write, or used, an operand of this call or of
///      one a few calls ahead, as far ahead as in the model;
///   4. waits until the call is due, where a turn of the ring should last as long as a step;
///   5. evicts the private caches, as the other layers of the step do;
///   6. runs the setup ops of a short time ago, such as the layer before, whose results the private
///      caches still hold in the model;
///   7. evicts the instruction cache.
///
/// The timed call() then runs the plan. Hot calls have one slot and no setup ops. Cold calls have a
/// ring longer than all caches and no setup ops.
class operand_ring {
 public:
  /// `plan` must outlive this object. `seed` is for the test data of small operands.
  operand_ring(device_context& context, const any_plan& plan, const op_in_context& what,
               std::uint64_t seed)
      : context_(context),
        plan_(plan),
        cache_(what.cache),
        layout_(buffer_layout_of(context.device(), plan, what)),
        setup_(context.device(), layout_, what) {
    set_limits();
    fill_own(seed);
  }

  /// How many calls one set_up() can serve. One in the state of a model: a second call would find
  /// the code of the first, and less of its own sources. Recorded calls: at most as many as the
  /// ring has slots, since a further call would find operands of the same recording.
  [[nodiscard]] std::int64_t most_calls() const { return most_calls_; }

  /// Sets the seconds of the model's step, as far as known, before warm_shared_cache(). A turn of
  /// the rings then lasts as long, where other tenants of the host evict from shared caches
  /// meanwhile, but no longer than they need to evict all.
  void set_step_seconds(double seconds) {
    if (!setup_.paced || seconds == step_seconds_) return;
    step_seconds_ = seconds;
    const double turn = std::min(seconds, longest_turn);
    period_ = turn / static_cast<double>(layout_.slots);
    setup_.set_leads(layout_, turn > 0 ? seconds / turn : 1);
  }

  /// Runs through the rings before the next call, once or several times: reads the operands, and
  /// writes what setup ops would have written ahead. Shared caches then hold what they hold in an
  /// endless loop of steps, whatever was measured before. Where they hold nothing for so long,
  /// warm-up calls do as well, and the reads are left out if such calls follow.
  void warm_shared_cache(bool warm_up_follows = true) {
    set_memory();
    const bool reads = setup_.warm_shared_cache || !warm_up_follows;
    const std::int64_t read_calls = reads ? slots() : 0;
    std::int64_t calls = read_calls;
    for (const setup_op& op : layout_.setup_ops) calls = std::max(calls, op.lead());
    std::vector<memory_range> unread;
    const std::int64_t earlier_calls = (warm_up_turns() - 1) * read_calls;
    for (std::int64_t i = 0; i < earlier_calls; ++i) add_slot(unread, next_ + i);
    for (std::int64_t back = calls; back > 0; --back) {
      const auto is_ahead = [&](const setup_op& op) { return op.lead() >= back; };
      if (back <= read_calls) add_slot(unread, next_ + read_calls - back);
      if (period_ > 0 || std::ranges::any_of(layout_.setup_ops, is_ahead)) {
        due_ = std::max(stopwatch::now(), due_ + period_);
        wait_until(due_);
        read_memory(context_.device(), std::exchange(unread, {}));
      }
      for (setup_op& op : layout_.setup_ops) {
        if (is_ahead(op)) op.run(context_, layout_.rings, next_ - back);
      }
    }
    read_memory(context_.device(), unread);
    // The next call follows the last of these, however long they took.
    warmed_at_ = period_ > 0 && calls > 0 ? due_ : stopwatch::now();
    calls_since_warming_ = 0;
    results_unread_ = false;
  }

  /// Brings the operands of the next calls into their state; untimed.
  void set_up(std::int64_t calls) {
    set_memory();
    if (std::exchange(results_unread_, false)) {
      read_memory(context_.device(), results_of(next_ - 1));
    }
    double most_ahead = 0;
    for (const setup_op& op : layout_.setup_ops) {
      most_ahead = std::max(most_ahead, op.lead_fraction());
    }
    due_ = std::max(stopwatch::now() + most_ahead * period_, due_ + period_);
    const std::int64_t different = std::min(calls, most_bound_);
    calls_since_warming_ += different;
    const std::span all(layout_.setup_ops);
    for (std::int64_t i = 0; i < different; ++i) {
      run(all.first(setup_.first_after_eviction), next_ + i);
      wait_until(due_);
      context_.evict_private_caches(setup_.private_eviction_bytes);
      run(all.subspan(setup_.first_after_eviction), next_ + i);
      bind(static_cast<std::size_t>(i), next_ + i);
    }
    context_.device().synchronize();
    if (cache_ == cache_state::model) {
      evict_instruction_cache(context_.device(), setup_.filler_blocks);
    }
    bound_.front()->announce_calls(calls);  // plans of several ranks bind one call only
  }

  /// Runs the calls that were set up, and waits for their end, unless a device clock does that.
  void call(std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) {
      bound_[static_cast<std::size_t>(i % most_bound_)]->run();
    }
    context_.device().finish();
    skip(calls);
  }

  /// Leaves out the calls that were set up: the next ones find what they would after them.
  void skip(std::int64_t calls) {
    next_ += std::min(calls, most_bound_);
    results_unread_ = setup_.reads_results;
  }

  // To record calls (see device_graph_row), use these functions and not those above.

  /// Makes the first call, and allocates all memory that calls need, since a recording cannot
  /// allocate.
  void call_first() {
    set_memory();
    enqueue_set_up(0);
    enqueue(0);
    context_.device().synchronize();
  }
  /// Enqueues the setup ops that run before a call.
  void enqueue_set_up(std::int64_t call) {
    for (setup_op& op : layout_.setup_ops) op.run(context_, layout_.rings, call);
  }
  void enqueue(std::int64_t call) {
    bind(0, call);
    bound_.front()->run();
  }
  /// Enqueues what the `left_out` calls before call 0 would write ahead for the first `calls`.
  /// `skip(n)` stands for what n of the calls in between touch that write nothing ahead.
  template <class Skip>
  void enqueue_ahead(std::int64_t left_out, std::int64_t calls, const Skip& skip) {
    std::int64_t skipped = 0;
    for (std::int64_t back = left_out; back > 0; --back, ++skipped) {
      for (setup_op& op : layout_.setup_ops) {
        const std::int64_t for_call = op.lead() - back;
        if (for_call < 0 || for_call >= calls) continue;
        if (skipped > 0) skip(std::exchange(skipped, 0));
        op.run(context_, layout_.rings, -back);
      }
    }
    if (skipped > 0) skip(skipped);
  }
  /// Slots of the rings of constants and of updated memory.
  [[nodiscard]] std::int64_t slots() const { return static_cast<std::int64_t>(layout_.slots); }
  /// Bytes that a call and its setup ops touch.
  [[nodiscard]] std::size_t call_bytes() const { return layout_.call_bytes; }

  /// Bytes of all shared rings: those touched between two uses of the same constants.
  [[nodiscard]] std::size_t ring_bytes() const {
    std::size_t sum = 0;
    for (const buffer_kind kind : shared_buffer_kinds) sum += layout_.rings.ring_bytes(kind);
    return sum;
  }
  /// Bytes that setup ops prepare before each call.
  [[nodiscard]] std::size_t setup_bytes() const {
    std::size_t sum = 0;
    for (const setup_op& op : layout_.setup_ops) sum += op.bytes();
    return sum;
  }
  /// Bytes read before each call to evict the private caches.
  [[nodiscard]] std::size_t evicted_bytes() const { return setup_.private_eviction_bytes; }

  /// The activations that a call writes. What a step keeps, such as weights, is not among them: no
  /// later layer of the step reads it.
  [[nodiscard]] std::vector<memory_range> results_of(std::int64_t call) const {
    const std::vector<address> places = layout_.rings.at(layout_.positions, call);
    std::vector<memory_range> results;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const plan_operand& operand = plan_.operands()[i];
      const bool written = operand.logical.role == op::role::destination;
      if (written && layout_.positions[i].kind == buffer_kind::activations)
        results.push_back({places[i], operand.bytes});
    }
    return results;
  }

  /// Seconds that a turn of the rings took since warm_shared_cache(), which is the time between two
  /// uses of the same slot.
  [[nodiscard]] double turn_seconds() const {
    if (calls_since_warming_ == 0) return 0;
    const double calls = static_cast<double>(calls_since_warming_);
    return (due_ - warmed_at_) / calls * static_cast<double>(layout_.slots);
  }

 private:
  static constexpr std::int64_t bind_limit = 64;
  /// Most calls of a sample in the stream of a GPU. It takes about a thousand launches, and a call
  /// may have two; then the program blocks, and the time to enqueue would be measured.
  static constexpr std::int64_t queue_limit = 400;
  /// Seconds after which two hosts had evicted all unused memory (docs/method.md).
  static constexpr double longest_turn = 0.025;

  void run(std::span<setup_op> ops, std::int64_t call) {
    for (setup_op& op : ops) {
      wait_until(due_ - op.lead_fraction() * period_);
      op.run(context_, layout_.rings, call);
    }
  }

  void add_slot(std::vector<memory_range>& to, std::int64_t call) const {
    for (const buffer_kind kind : shared_buffer_kinds) {
      const std::size_t bytes = layout_.rings.slot_bytes(kind);
      if (bytes > 0) to.push_back({layout_.rings.at({kind, 0}, call), bytes});
    }
  }

  /// Turns of the rings that warm the shared cache: several where results are read again. More than
  /// six did not increase what a cache of 260 MiB kept.
  [[nodiscard]] std::int64_t warm_up_turns() const {
    if (!setup_.reads_results) return 1;
    constexpr std::size_t most = 6;
    const std::size_t turns = turns_that_warm(context_.device().cache_bytes(), ring_bytes());
    return static_cast<std::int64_t>(std::min(most, turns));
  }

  static void wait_until(double time) {
    while (stopwatch::now() < time) {
    }
  }

  /// Other rows use the same memory, and may have moved it.
  void set_memory() {
    for (const buffer_kind kind : shared_buffer_kinds) {
      const std::size_t bytes = layout_.rings.ring_bytes(kind);
      layout_.rings.set_memory(kind, context_.memory(kind, bytes, cache_ == cache_state::hot));
    }
  }

  void set_limits() {
    const bool one_call = cache_ == cache_state::model;
    const bool moves = layout_.slots > 1;
    most_bound_ = moves && !one_call ? bind_limit : 1;
    most_calls_ = moves || one_call ? most_bound_ : INT64_MAX;
    const timing_mode how = context_.device().timing();
    if (how == timing_mode::single) most_calls_ = 1;
    if (how == timing_mode::stream && context_.device().clock() != nullptr)
      most_calls_ = std::min(most_calls_, queue_limit);
    if (how == timing_mode::graph) most_calls_ = moves ? std::min(slots(), bind_limit) : bind_limit;
  }

  /// Writes valid values to small weights, and to operands that need certain values, such as
  /// variances: the same in all slots, but for indices.
  void fill_own(std::uint64_t seed) {
    const std::size_t versions =
        layout_.rings.ring_bytes(buffer_kind::indices) /
        std::max<std::size_t>(1, layout_.rings.slot_bytes(buffer_kind::indices));
    own_ = fill(buffer_kind::own, 1, seed);
    indices_ = fill(buffer_kind::indices, versions, seed);
  }

  /// Memory of a kind, of which the first `different` slots have values of their own.
  [[nodiscard]] std::unique_ptr<device_memory> fill(buffer_kind kind, std::size_t different,
                                                    std::uint64_t seed) {
    const std::size_t slot = layout_.rings.slot_bytes(kind);
    const std::size_t bytes = layout_.rings.ring_bytes(kind);
    if (slot == 0) return nullptr;
    compute_device& device = context_.device();
    auto memory = device.allocate(bytes);
    layout_.rings.set_memory(kind, memory->data());
    auto* const first = static_cast<std::byte*>(memory->data());
    for (std::size_t i = 0; i < different; ++i) {
      std::byte* const to = first + i * slot;
      fill_own_operands(device, plan_, layout_.positions, kind, to, seed + i, context_.numbers());
      for (const setup_op& op : layout_.setup_ops) op.fill_own(context_, kind, to, seed + i);
    }
    for (std::size_t done = different * slot; done < bytes; done += slot) {
      device.copy(first + done, first, slot);
    }
    return memory;
  }

  /// Binds the plan to the operands of a call, as the `index`-th of those that are set up together.
  void bind(std::size_t index, std::int64_t call) {
    const std::vector<address> places = layout_.rings.at(layout_.positions, call);
    if (index < bound_.size()) {
      bound_[index]->place(places);
    } else {
      if (!workspace_) workspace_ = context_.workspace(plan_.workspace_bytes());
      bound_.push_back(plan_.bound_to(places, workspace_->data()));
    }
  }

  device_context& context_;
  const any_plan& plan_;
  cache_state cache_;
  buffer_layout layout_;
  call_setup setup_;
  std::unique_ptr<device_memory> own_;
  std::unique_ptr<device_memory> indices_;
  std::shared_ptr<device_memory> workspace_;
  std::vector<std::unique_ptr<bound_plan>> bound_;
  std::int64_t most_bound_ = 1;
  std::int64_t most_calls_ = 1;
  std::int64_t next_ = 0;    ///< number of the next call
  double step_seconds_ = 0;  ///< of the model; 0: not known
  double period_ = 0;        ///< least seconds from one call to the next
  double due_ = 0;           ///< when the latest call was to begin
  double warmed_at_ = 0;     ///< when warm_shared_cache() ended
  std::int64_t calls_since_warming_ = 0;
  bool results_unread_ = false;  ///< those of the latest call, which set_up() should read
};

}  // namespace layerbench::run
