// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE ring_position ring_buffers::add(buffer_kind kind, std::size_t bytes) {
  ring& to = ring_of(kind);
  // Large operands begin at a page, as a model's tensors do. Small ones are packed: a page for
  // each would make the ring many times as long as the memory that is touched.
  const std::size_t alignment =
      kind == buffer_kind::own || kind == buffer_kind::indices || bytes < page ? cache_line : page;
  const ring_position result{kind, rounded_up(to.slot_bytes, alignment)};
  to.slot_bytes = result.offset + bytes;
  to.alignment = std::max(to.alignment, alignment);
  return result;
}

LAYERBENCH_INLINE void ring_buffers::set_slots(std::size_t slots, std::size_t of_activations,
                                               std::size_t of_indices) {
  for (ring& one : rings_) {
    one.slot_bytes = rounded_up(one.slot_bytes, one.alignment);
    one.bytes = slots * one.slot_bytes;
  }
  ring& activations = ring_of(buffer_kind::activations);
  activations.bytes = of_activations * activations.slot_bytes;
  ring& indices = ring_of(buffer_kind::indices);
  indices.bytes = of_indices * indices.slot_bytes;
  ring& own = ring_of(buffer_kind::own);
  own.bytes = std::min(slots, max_own_slots()) * own.slot_bytes;
}

LAYERBENCH_INLINE std::size_t ring_buffers::slot_bytes(buffer_kind kind) const {
  return rings_.at(index(kind)).slot_bytes;
}

LAYERBENCH_INLINE std::size_t ring_buffers::ring_bytes(buffer_kind kind) const {
  return rings_.at(index(kind)).bytes;
}

LAYERBENCH_INLINE address ring_buffers::at(const ring_position& of, std::int64_t call) const {
  const ring& in = rings_.at(index(of.kind));
  if (in.bytes == 0) return in.memory;  // of operands that a library does without
  const std::size_t slot = static_cast<std::size_t>(call) * in.slot_bytes % in.bytes;
  return static_cast<std::byte*>(in.memory) + slot + of.offset;
}

LAYERBENCH_INLINE std::vector<address> ring_buffers::at(const std::vector<ring_position>& positions,
                                                        std::int64_t call) const {
  std::vector<address> addresses;
  addresses.reserve(positions.size());
  for (const ring_position& of : positions) addresses.push_back(at(of, call));
  return addresses;
}

LAYERBENCH_INLINE std::size_t ring_buffers::max_own_slots() {
  constexpr std::size_t max_bytes = std::size_t{64} << 20U;
  const std::size_t slot = std::max<std::size_t>(1, ring_of(buffer_kind::own).slot_bytes);
  return std::max<std::size_t>(1, max_bytes / slot);
}

}  // namespace layerbench::run
