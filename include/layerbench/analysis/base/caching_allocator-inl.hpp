// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>

#include <layerbench/analysis/base/caching_allocator.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/rounding.hpp>

namespace layerbench::analysis {

namespace detail {

inline constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
inline constexpr std::int64_t least_block = 512;
inline constexpr std::int64_t most_small = mebibyte;

/// Bytes of a new segment for a request.
[[nodiscard]] constexpr std::int64_t segment_bytes(std::int64_t request) {
  if (request <= most_small) return 2 * mebibyte;
  if (request < 10 * mebibyte) return 20 * mebibyte;
  return rounded_up(request, 2 * mebibyte);
}

}  // namespace detail

LAYERBENCH_INLINE caching_allocator::address caching_allocator::allocate(std::int64_t bytes) {
  const std::int64_t size = rounded_up(bytes, detail::least_block);
  const bool is_small = size <= detail::most_small;
  const auto fitting = pool(is_small).lower_bound({size, 0});
  const auto found = fitting == pool(is_small).end()
                         ? new_segment(detail::segment_bytes(size), is_small)
                         : blocks_.find(fitting->second);
  remove_free(found);
  const std::int64_t rest = found->second.size - size;
  if (is_small ? rest >= detail::least_block : rest > detail::most_small) {
    found->second.size = size;
    add_free(blocks_.emplace(found->first + size, block{rest, is_small, true}).first);
  }
  found->second.is_free = false;
  allocated_ += found->second.size;
  return found->first;
}

LAYERBENCH_INLINE void caching_allocator::free(address of) {
  auto freed = blocks_.find(of);
  allocated_ -= freed->second.size;
  freed->second.is_free = true;
  add_free(freed);
  join_next(freed);
  if (freed != blocks_.begin() && std::prev(freed)->second.is_free) join_next(std::prev(freed));
}

LAYERBENCH_INLINE caching_allocator::blocks::iterator caching_allocator::new_segment(
    std::int64_t bytes, bool is_small) {
  const auto added = blocks_.emplace(next_segment_, block{bytes, is_small, true}).first;
  next_segment_ += bytes + 1;  // blocks of two segments are never neighbours
  reserved_ += bytes;
  add_free(added);
  return added;
}

LAYERBENCH_INLINE void caching_allocator::join_next(blocks::iterator first) {
  const auto next = std::next(first);
  const bool joins = next != blocks_.end() && next->second.is_free &&
                     first->first + first->second.size == next->first;
  if (!joins) return;
  remove_free(first);
  remove_free(next);
  first->second.size += next->second.size;
  add_free(first);
  blocks_.erase(next);
}

}  // namespace layerbench::analysis
