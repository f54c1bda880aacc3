// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <layerbench/backend/backend.hpp>

namespace layerbench::run {

/// Kinds of memory in which a call's operands lie: what is only read, what is written, what is
/// learned and written over, and the row's own copies of what is small or needs values.
enum class buffer_kind : std::uint8_t { constants, activations, learned, own };

/// Those that rows take turns in.
inline constexpr std::array shared_buffer_kinds{buffer_kind::constants, buffer_kind::activations,
                                                buffer_kind::learned};

/// An operand's place in the window of a call.
struct slice {
  buffer_kind in;
  std::size_t offset;
};

/// The memory of one call, which moves on from call to call, window by window round a ring of each
/// kind.
class ring_slot {
 public:
  /// Room for an operand.
  slice add(buffer_kind in, std::size_t bytes) {
    ring& to = of(in);
    // As a model's tensors lie, at the start of a page; but small ones are packed, lest a ring of
    // them take many times the memory that is touched.
    const std::size_t grain = in == buffer_kind::own || bytes < page ? line : page;
    const slice result{in, rounded(to.size, grain)};
    to.size = result.offset + bytes;
    to.grain = std::max(to.grain, grain);
    return result;
  }

  /// Sets the rings' lengths, once all operands have their room: so many windows.
  void set_turns(std::size_t turns) {
    for (ring& item : rings_) {
      item.size = rounded(item.size, item.grain);
      item.length = turns * item.size;
    }
    of(buffer_kind::own).length = std::min(turns, most_copies()) * of(buffer_kind::own).size;
  }

  [[nodiscard]] std::size_t size(buffer_kind in) const { return rings_.at(index(in)).size; }
  [[nodiscard]] std::size_t length(buffer_kind in) const { return rings_.at(index(in)).length; }
  /// Where `memory` of each kind starts.
  void set_memory(buffer_kind in, address memory) { of(in).memory = memory; }

  [[nodiscard]] address at(const slice& p, std::int64_t call) const {
    const ring& in = rings_.at(index(p.in));
    const std::size_t start = static_cast<std::size_t>(call) * in.size % in.length;
    return static_cast<std::byte*>(in.memory) + start + p.offset;
  }
  [[nodiscard]] std::vector<address> at(const std::vector<slice>& slices, std::int64_t call) const {
    std::vector<address> places;
    places.reserve(slices.size());
    for (const slice& item : slices) places.push_back(at(item, call));
    return places;
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t line = 64;  ///< of a cache

  struct ring {
    std::size_t size = 0;  ///< of a window
    std::size_t length = 0;
    std::size_t grain = line;  ///< of both
    address memory = nullptr;
  };

  static constexpr std::size_t rounded(std::size_t bytes, std::size_t grain) {
    return (bytes + grain - 1) / grain * grain;
  }
  static constexpr std::size_t index(buffer_kind in) { return static_cast<std::size_t>(in); }
  ring& of(buffer_kind in) { return rings_.at(index(in)); }

  /// Own copies are no more than memory can bear.
  [[nodiscard]] std::size_t most_copies() {
    constexpr std::size_t most_bytes = std::size_t{64} << 20U;
    return std::max<std::size_t>(1,
                                 most_bytes / std::max<std::size_t>(1, of(buffer_kind::own).size));
  }

  std::array<ring, 4> rings_;
};

}  // namespace layerbench::run
