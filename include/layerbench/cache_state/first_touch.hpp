// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/cache_state/eviction.hpp>

/// Memory that threads touch first lies on their NUMA node. These functions write into memory that
/// no one has used yet, and do nothing where the device's threads are on one node.
namespace layerbench::run {

namespace detail {

/// Writes a byte to each small page that begins in the range.
inline void touch(std::byte* begin, std::byte* end) {
  constexpr std::uintptr_t page = 4096;
  volatile std::byte* const bytes = begin;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const auto size = static_cast<std::size_t>(end - begin);
  for (std::size_t at = rounded_up(address, page) - address; at < size; at += page)
    bytes[at] = std::byte{};
}

/// The threads on each node.
[[nodiscard]] inline std::vector<std::vector<int>> threads_by_node(const compute_device& device) {
  std::map<int, std::vector<int>> found;
  int thread = 0;
  for (const int node : device.node_by_thread()) found[node].push_back(thread++);
  const auto threads = std::views::values(found);
  return {threads.begin(), threads.end()};
}

}  // namespace detail

/// Each thread touches an equal part, as it does in calls that divide a tensor among threads.
inline void touch_in_parts(compute_device& device, const memory_range& range) {
  if (detail::threads_by_node(device).size() <= 1) return;
  const auto threads = static_cast<std::size_t>(device.threads());
  auto* const start = static_cast<std::byte*>(range.start);
  device.on_all_threads([&](int thread) {
    const auto i = static_cast<std::size_t>(thread);
    detail::touch(start + range.bytes * i / threads, start + range.bytes * (i + 1) / threads);
  });
}

/// Spreads the range over the nodes in blocks of a huge page. So each part of it, such as a slot
/// of a ring, lies on all of them: calls of any size find as much memory near as far.
inline void touch_in_turn(compute_device& device, const memory_range& range) {
  const std::vector<std::vector<int>> nodes = detail::threads_by_node(device);
  if (nodes.size() <= 1) return;
  constexpr std::size_t block = std::size_t{1} << 21U;
  auto* const start = static_cast<std::byte*>(range.start);
  device.on_all_threads([&](int thread) {
    for (std::size_t i = 0; i * block < range.bytes; ++i) {
      const std::vector<int>& on_node = nodes[i % nodes.size()];
      if (on_node[i / nodes.size() % on_node.size()] != thread) continue;
      detail::touch(start + i * block, start + std::min(range.bytes, (i + 1) * block));
    }
  });
}

}  // namespace layerbench::run
