// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <layerbench/backend/device.hpp>

namespace layerbench::run {

struct memory_range {
  address start;
  std::size_t bytes;
};

/// Reads the ranges one after the other, each thread an equal share of each. Does nothing where the
/// device's threads are not this program's.
inline void read_memory(compute_device& device, std::span<const memory_range> ranges) {
  if (ranges.empty()) return;
  constexpr std::size_t line = 64;
  const auto threads = static_cast<std::size_t>(device.threads());
  device.on_all_threads([&](int thread) {
    const auto share = static_cast<std::size_t>(thread);
    for (const memory_range& range : ranges) {
      const auto* const bytes = static_cast<const std::byte*>(range.start);
      const std::size_t end = range.bytes * (share + 1) / threads;
      for (std::size_t i = range.bytes * share / threads; i < end; i += line) {
        const auto value = std::to_integer<unsigned>(bytes[i]);
        asm volatile("" ::"r"(value));  // keeps the read, whose value nobody uses
      }
    }
  });
}

/// How many turns through `bytes` of memory bring a cache into the state that an endless loop
/// through this memory has. Adaptive replacement policies need the cache's size several times over.
[[nodiscard]] inline std::size_t turns_that_warm(std::size_t cache_bytes, std::size_t bytes) {
  return 1 + 2 * cache_bytes / std::max<std::size_t>(1, bytes);
}

namespace detail {

template <std::size_t Number>
[[gnu::noinline]] void filler_block() {
  // The number differs between blocks, so that the linker does not fold them into one.
  [[maybe_unused]] const volatile std::size_t number = Number;
  asm volatile(".rept 2048\n nop\n .endr");  // one to four bytes each
}
template <std::size_t... Numbers>
constexpr std::array<void (*)(), sizeof...(Numbers)> filler_blocks(
    std::index_sequence<Numbers...> /*all*/) {
  return {filler_block<Numbers>...};
}

}  // namespace detail

/// Blocks of code that do nothing. All of them together are larger than a core's instruction cache.
inline constexpr auto instruction_cache_filler =
    detail::filler_blocks(std::make_index_sequence<32>());

/// Runs the first `blocks` filler blocks on each thread. In a model a layer's code last ran one
/// step ago, and the code of all other layers has run since. Does nothing where the device's
/// threads are not this program's.
inline void evict_instruction_cache(compute_device& device, std::size_t blocks) {
  device.on_all_threads([blocks](int /*thread*/) {
    for (std::size_t i = 0; i < blocks; ++i) instruction_cache_filler.at(i)();
  });
}

}  // namespace layerbench::run
