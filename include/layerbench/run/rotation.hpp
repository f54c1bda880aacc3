// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <layerbench/model/reuse.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/device.hpp>
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

/// A source operand before a call: which op wrote it (nothing: somebody outside of the model), and
/// how many bytes were touched since it was used last.
struct origin {
  std::optional<op::any> producer;
  std::int64_t distance = 0;
};

/// What there is to bring into state.
struct surrounded_op {
  plan_request request = {};
  cache_state cache = cache_state::hot;
  std::int64_t footprint = 0;   ///< of the model's step
  std::vector<origin> sources;  ///< one a source operand
  bool in_place = false;
};

/// Calls of a plan on operands that move round rings, so that each call finds its operands in the
/// caches as far as the state says. Weights, and what is written, were last touched one model's
/// footprint of bytes ago. Sources are written by the plans that write them in the model, untimed,
/// as long before the call as there.
class rotation {
 public:
  /// `plan` must outlive this. `seed` is of the test data of small operands.
  rotation(arena& memory, const any_plan& plan, const surrounded_op& what, std::uint64_t seed)
      : memory_(memory), plan_(plan), reach_(reach_of(what)) {
    lay_out(what);
    set_lengths(what);
    fill_own(seed);
  }

  /// How many calls may be made ready at once: what was written for the first must still be near
  /// when it runs.
  [[nodiscard]] std::int64_t most_calls() const { return most_calls_; }

  /// Brings the operands of the next calls into their state; untimed.
  void ready(std::int64_t calls) {
    window_.set_memory(room::constants, memory_.constants(window_.bytes(room::constants)));
    window_.set_memory(room::activations, memory_.activations(window_.bytes(room::activations)));
    const std::int64_t different = std::min(calls, slots_wanted_);
    for (std::int64_t i = 0; i < different; ++i) {
      for (preparer& each : preparers_) write(each, next_ + i + each.lead);
      place(static_cast<std::size_t>(i), next_ + i);
    }
    memory_.here().synchronize();
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
  /// Bytes of sources that are written before each call.
  [[nodiscard]] std::size_t touched_bytes() const {
    std::size_t sum = 0;
    for (const preparer& each : preparers_) sum += each.bytes;
    return sum;
  }

 private:
  /// What writes a source, `lead` calls before the call that reads it.
  struct preparer {
    std::unique_ptr<any_plan> plan;  ///< null: bytes are copied
    std::vector<part> places;        ///< of the plan's operands; of a copy: from, to
    std::unique_ptr<bound_plan> bound;
    std::size_t bytes = 0;
    std::int64_t distance = 0;
    std::int64_t lead = 0;
  };

  static constexpr std::size_t small_bytes = 65536;
  static constexpr std::int64_t most_slots = 64;

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
    std::size_t source = 0;
    for (const plan_operand& each : plan_.operands()) {
      touched_ += each.bytes;
      switch (each.logical.role) {
        case op::role::weights:
        case op::role::statistics:
          parts_.push_back(
              window_.add(each.bytes <= small_bytes ? room::own : room::constants, each.bytes));
          break;
        case op::role::source: parts_.push_back(add_source(what, source++, each.bytes)); break;
        case op::role::destination:
          if (what.in_place) {
            parts_.push_back(parts_.front());
            touched_ -= each.bytes;
          } else {
            parts_.push_back(window_.add(room::activations, each.bytes));
          }
          break;
      }
    }
    // The longest ago comes first; of equals the first source, which a producer may overwrite.
    std::ranges::stable_sort(preparers_, std::ranges::greater{}, &preparer::distance);
  }

  part add_source(const surrounded_op& what, std::size_t source, std::size_t bytes) {
    const bool overwritten = what.in_place && source == 0;
    if (what.cache != cache_state::model || is_old(what.sources[source].distance)) {
      return window_.add(overwritten ? room::activations : room::constants, bytes);
    }
    const origin& from = what.sources[source];
    preparer writer;
    writer.distance = from.distance;
    if (from.producer) {
      try {
        writer.plan = memory_.here().plan(*from.producer, what.request);
      } catch (const unsupported&) {
        writer.plan = nullptr;  // whoever writes it in the model, it is not this library
      }
    }
    const part to = window_.add(room::activations,
                                std::max(bytes, writer.plan ? written_bytes(*writer.plan) : 0));
    writer.bytes = bytes;
    touched_ += bytes_read(writer, bytes);
    add_places(writer, to, bytes);
    preparers_.push_back(std::move(writer));
    return to;
  }

  /// Whether a source was last used so long ago that a turn of the ring stands for it.
  [[nodiscard]] bool is_old(std::int64_t distance) const {
    return 2 * static_cast<std::size_t>(distance) > reach_;
  }

  static std::size_t written_bytes(const any_plan& plan) {
    std::size_t most = 0;
    for (const plan_operand& each : plan.operands()) {
      if (each.logical.role == op::role::destination) most = std::max(most, each.bytes);
    }
    return most;
  }

  static std::size_t bytes_read(const preparer& writer, std::size_t copied) {
    if (!writer.plan) return copied;
    std::size_t sum = 0;
    for (const plan_operand& each : writer.plan->operands()) {
      if (each.logical.role != op::role::destination) sum += each.bytes;
    }
    return sum;
  }

  /// A producer reads what nobody writes, even where in the model it works in place: results of
  /// results would grow from round to round.
  void add_places(preparer& writer, part to, std::size_t copied) {
    if (!writer.plan) {
      writer.places = {window_.add(room::constants, copied), to};
      return;
    }
    for (const plan_operand& each : writer.plan->operands()) {
      writer.places.push_back(each.logical.role == op::role::destination
                                  ? to
                                  : window_.add(room::constants, each.bytes));
    }
  }

  void set_lengths(const surrounded_op& what) {
    const double turns = std::max(1.0, static_cast<double>(reach_) / static_cast<double>(touched_));
    window_.set_turns(turns);
    for (preparer& each : preparers_) {
      each.lead = std::llround(static_cast<double>(each.distance) / static_cast<double>(touched_));
    }
    const bool moves = turns > 1;
    slots_wanted_ = moves ? most_slots : 1;
    most_calls_ = INT64_MAX;
    if (moves) most_calls_ = most_slots;
    if (what.cache == cache_state::model) {
      // What is made ready shall still be in the nearest cache of any size.
      constexpr std::size_t near = std::size_t{256} << 10U;
      most_calls_ =
          std::clamp<std::int64_t>(static_cast<std::int64_t>(near / touched_), 1, most_slots);
    }
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

  void write(preparer& writer, std::int64_t call) {
    const std::vector<address> places = window_.at(writer.places, call);
    if (!writer.plan) {
      memory_.here().copy(places[1], places[0], writer.bytes);
      return;
    }
    if (writer.bound) {
      writer.bound->place(places);
    } else {
      writer.bound = writer.plan->bind(places, memory_.workspace(writer.plan->workspace_bytes()));
    }
    writer.bound->run();
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
  std::size_t reach_;        ///< bytes between two uses of weights, as far as the state asks for it
  std::vector<part> parts_;  ///< of the plan's operands
  std::vector<preparer> preparers_;
  std::size_t touched_ = 0;  ///< bytes touched by a call and its preparers
  window window_;
  std::unique_ptr<device_memory> own_;
  std::vector<std::unique_ptr<bound_plan>> slots_;
  std::int64_t slots_wanted_ = 1;
  std::int64_t most_calls_ = 1;
  std::int64_t next_ = 0;
};

}  // namespace layerbench::run
