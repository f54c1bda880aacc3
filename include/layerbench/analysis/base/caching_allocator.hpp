// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace layerbench::analysis {

/// The bytes that PyTorch's caching allocator takes from a GPU: a replay of its rules, with its
/// default settings and one stream (PyTorch, c10/cuda/CUDACachingAllocator.cpp). It takes segments
/// and never gives them back. Blocks of a segment serve requests; free ones are reused.
///
/// - Requests are rounded up to 512 bytes.
/// - Those up to 1 MiB share segments of 2 MiB. Larger ones below 10 MiB share segments of 20 MiB;
///   others have a segment of their size, rounded up to 2 MiB.
/// - A request takes the smallest free block that is large enough. What the block has more becomes
///   a free block, if it is at least 512 bytes (small requests) or more than 1 MiB (large ones).
/// - A freed block joins its free neighbours in the segment.
class caching_allocator {
 public:
  /// Identifies a block in use.
  using address = std::int64_t;

  /// `bytes` must be above 0.
  [[nodiscard]] address allocate(std::int64_t bytes);
  void free(address block);

  /// Bytes of the blocks in use.
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  /// Bytes of all segments.
  [[nodiscard]] std::int64_t reserved() const { return reserved_; }

 private:
  struct block {
    std::int64_t size;
    bool is_small;
    bool is_free;
  };
  using blocks = std::map<address, block>;

  [[nodiscard]] auto& pool(bool is_small) { return free_[is_small ? 1 : 0]; }
  void add_free(blocks::iterator of) {
    pool(of->second.is_small).emplace(of->second.size, of->first);
  }
  void remove_free(blocks::iterator of) {
    pool(of->second.is_small).erase({of->second.size, of->first});
  }
  [[nodiscard]] blocks::iterator new_segment(std::int64_t bytes, bool is_small);
  /// Joins a free block with the one behind it, if that is free and of the same segment.
  void join_next(blocks::iterator first);

  blocks blocks_;
  std::array<std::set<std::pair<std::int64_t, address>>, 2> free_;  ///< large and small, by size
  address next_segment_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t reserved_ = 0;
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/caching_allocator-inl.hpp>
#endif
