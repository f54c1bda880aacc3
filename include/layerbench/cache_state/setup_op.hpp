// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/number_class.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>

namespace layerbench::run {

/// The kind of memory of an operand that needs certain values.
[[nodiscard]] inline buffer_kind own_kind(const op::operand& of) {
  return of.is_index ? buffer_kind::indices : buffer_kind::own;
}

/// Writes test data of a class to those of a plan's operands that lie in memory of `kind`, own or
/// indices, in the slot that begins at `slot`; to opaque ones what a forward pass writes for test
/// data.
void fill_own_operands(compute_device& device, const any_plan& plan,
                       const std::vector<ring_position>& positions, buffer_kind kind,
                       std::byte* slot, std::uint64_t seed, number_class numbers);

/// An untimed op that writes, or reads, memory of a call's slot before the call. It is the op that
/// does so in the model, where there is a plan for it, so that the memory lies in the same caches
/// as in the model; else a copy.
class setup_op {
 public:
  /// Distance of an op that runs before all others.
  static constexpr std::int64_t max_distance = INT64_MAX;

  /// A null plan copies `bytes`. `output` is the plan's operand that the call uses, the first
  /// `bytes` of it; `distance` is how many bytes the step touches between this op and the call, and
  /// `repeated` the position in the step of the call that it repeats, if any.
  setup_op(std::unique_ptr<any_plan> plan, std::size_t output, std::size_t bytes,
           std::int64_t distance, std::optional<std::size_t> repeated = {});

  /// Null: the op is a copy.
  [[nodiscard]] const any_plan* plan() const { return plan_.get(); }

  /// Bytes of the call's memory that it uses.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t distance() const { return distance_; }
  [[nodiscard]] bool runs_first() const { return distance_ == max_distance; }

  /// Bytes that it writes for the call, which may use only some of them.
  [[nodiscard]] std::size_t written_bytes() const;

  /// Whether it runs the op of the call that made this use.
  [[nodiscard]] bool repeats(const previous_use& use) const;

  /// Sets where an operand lies in the call's slot, unless it was set before.
  void place(std::size_t operand, ring_position at) { placed_.emplace(operand, at); }
  void place_output(ring_position at) { place(output_, at); }

  /// Reserves memory in `rings` for the operands that have no place. The output must have one.
  /// Nobody writes the reserved sources. Returns the bytes reserved.
  std::size_t reserve(ring_buffers& rings);

  /// Writes test data to operands in memory of `kind`, own or indices, in the slot at `slot`.
  void fill_own(device_context& context, buffer_kind kind, std::byte* slot,
                std::uint64_t seed) const;

  /// Sets how many calls ahead it runs: whole ones, and a fraction of the time between two calls.
  void set_lead(std::int64_t calls, double fraction);
  [[nodiscard]] std::int64_t lead() const { return lead_; }
  [[nodiscard]] double lead_fraction() const { return lead_fraction_; }

  /// Runs before call `call`, on the slot of the call that is lead() calls later.
  void run(device_context& context, const ring_buffers& rings, std::int64_t call);

 private:
  std::unique_ptr<any_plan> plan_;
  std::size_t output_;
  std::size_t bytes_;
  std::int64_t distance_;
  std::optional<std::size_t> repeated_;
  std::int64_t lead_ = 0;
  double lead_fraction_ = 0;
  std::map<std::size_t, ring_position> placed_ = {};  ///< by place()
  std::vector<ring_position>
      positions_;  ///< of the plan's operands; of a copy: source and destination
  std::shared_ptr<device_memory> workspace_;
  std::unique_ptr<bound_plan> bound_;
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cache_state/setup_op-inl.hpp>
#endif
