// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/system.hpp>
#include <layerbench/topology/this_machine.hpp>

namespace layerbench::machine {

LAYERBENCH_INLINE processor_list processors_of_this_thread() {
  constexpr int most = 1 << 16;
  for (int count = CPU_SETSIZE; count <= most; count *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    std::vector<unsigned long> words(bytes / sizeof(unsigned long));
    auto* const set = reinterpret_cast<cpu_set_t*>(words.data());
    if (::sched_getaffinity(0, bytes, set) != 0) continue;  // there may be more processors
    processor_list found;
    constexpr std::size_t bits = 8 * sizeof(unsigned long);
    for (std::size_t i = 0; i < words.size() * bits; ++i) {
      if ((words[i / bits] >> (i % bits) & 1U) != 0) found.push_back(static_cast<int>(i));
    }
    return found;
  }
  return {};
}

LAYERBENCH_INLINE void run_this_thread_on(const processor_list& processors) {
  if (processors.empty()) return;
  const int most = std::ranges::max(processors);
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most) + 1);
  std::vector<unsigned long> words(bytes / sizeof(unsigned long));
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  for (const int processor : processors) {
    const auto i = static_cast<std::size_t>(processor);
    words[i / bits] |= 1UL << (i % bits);
  }
  ::sched_setaffinity(0, bytes, reinterpret_cast<const cpu_set_t*>(words.data()));
}

LAYERBENCH_INLINE processor_list processors_of_control_groups() {
  const processor_list before = processors_of_this_thread();
  processor_list all(1 << 16);
  std::iota(all.begin(), all.end(), 0);
  run_this_thread_on(all);
  processor_list allowed = processors_of_this_thread();
  run_this_thread_on(before);
  return allowed;
}

LAYERBENCH_INLINE const hwloc_machine& this_hwloc_machine() {
  static const hwloc_machine one;
  return one;
}

LAYERBENCH_INLINE const topology& this_machine() {
  static const topology one = [] {
    const std::array sizes{std::int64_t{::sysconf(_SC_LEVEL1_DCACHE_SIZE)},
                           std::int64_t{::sysconf(_SC_LEVEL2_CACHE_SIZE)},
                           std::int64_t{::sysconf(_SC_LEVEL3_CACHE_SIZE)}};
    const hwloc_machine& known = this_hwloc_machine();
    topology found = completed(
        known.found(),
        known.found().cores.empty() ? processors_of_control_groups() : processor_list(), sizes);
    if (!known.found().cores.empty() && !known.is_this_system()) {
      add_note(found, "HWLOC_XMLFILE or HWLOC_SYNTHETIC describe another machine");
    }
    if (known.is_this_system()) {
      found.memory = 1024 * field_of("/proc/meminfo", "MemTotal").value_or(0);
    }
    const std::int64_t installed = std::max(memory_of_nodes(found), found.memory);
    const auto limit = memory_limit_bytes();
    constexpr std::int64_t none = std::int64_t{1} << 60;  // version 1 has a number for no limit
    if (limit && *limit < (installed > 0 ? installed : none)) found.memory_limit = limit;
    return found;
  }();
  return one;
}

}  // namespace layerbench::machine
