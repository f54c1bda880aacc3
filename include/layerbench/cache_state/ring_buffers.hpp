// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/backend/backend.hpp>

namespace layerbench::run {

/// Kinds of memory. constants: calls only read it. activations: calls write it. updated: calls read
/// and write it (weights in training). own: separate memory of each row, for small weights and for
/// operands that need certain values. indices: separate memory, too, with other values in each
/// slot, since a call that finds the indices of the call before finds what these choose in the
/// caches. The rows of a device share the memory of the other kinds.
enum class buffer_kind : std::uint8_t { constants, activations, updated, own, indices };

inline constexpr std::array shared_buffer_kinds{buffer_kind::constants, buffer_kind::activations,
                                                buffer_kind::updated};

/// How many sets of indices or labels calls use one after another.
inline constexpr std::size_t input_versions = 16;

/// Where an operand lies in a ring slot.
struct ring_position {
  buffer_kind kind;
  std::size_t offset;
};

/// One ring of equal slots for each kind of memory. Call i has slot i of each ring, modulo the
/// number of the ring's slots.
class ring_buffers {
 public:
  /// Reserves bytes in every slot of a kind's ring.
  ring_position add(buffer_kind kind, std::size_t bytes);

  /// Sets the number of slots of each ring, of that of activations and of indices, after the last
  /// add().
  void set_slots(std::size_t slots, std::size_t of_activations, std::size_t of_indices);

  [[nodiscard]] std::size_t slot_bytes(buffer_kind kind) const;
  [[nodiscard]] std::size_t ring_bytes(buffer_kind kind) const;
  /// Sets where a kind's ring begins.
  void set_memory(buffer_kind kind, address memory) { ring_of(kind).memory = memory; }

  [[nodiscard]] address at(const ring_position& of, std::int64_t call) const;
  [[nodiscard]] std::vector<address> at(const std::vector<ring_position>& positions,
                                        std::int64_t call) const;

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t cache_line = 64;

  struct ring {
    std::size_t slot_bytes = 0;
    std::size_t bytes = 0;
    std::size_t alignment = cache_line;
    address memory = nullptr;
  };

  static constexpr std::size_t index(buffer_kind kind) { return static_cast<std::size_t>(kind); }
  ring& ring_of(buffer_kind kind) { return rings_.at(index(kind)); }

  /// Each row keeps its own copies for as long as it lives, so their memory is limited.
  [[nodiscard]] std::size_t max_own_slots();

  std::array<ring, 5> rings_;
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cache_state/ring_buffers-inl.hpp>
#endif
