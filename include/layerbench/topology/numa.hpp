// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/shape/record.hpp>
#include <layerbench/topology/topology.hpp>

/// On which NUMA node memory lies.
namespace layerbench::machine {

/// first_touch: near the thread that uses it first, as the system does it. interleave: on all
/// nodes with memory, page by page. local: near the first thread.
enum class numa_policy : std::uint8_t { first_touch, interleave, local };

}  // namespace layerbench::machine

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::machine::numa_policy>{"first-touch", "interleave", "local"};

namespace layerbench::machine {

/// The nodes that these processors belong to; of several nodes of the same processors the first.
[[nodiscard]] std::vector<const memory_node*> distinct_nodes(const topology& of,
                                                             const processor_list& processors);

/// How many nodes these processors belong to; several nodes of the same processors count once.
[[nodiscard]] int node_count(const topology& of, const processor_list& processors);

/// For each thread the number of its node. Threads that may move between nodes count as alternating
/// between them.
[[nodiscard]] std::vector<int> node_by_thread(const topology& of,
                                              const std::vector<processor_list>& threads);

/// The numbers of the nodes that a policy restricts memory to; none where the system places it: by
/// first touch, and on a machine of one node with memory. `first`: the processors of the first
/// thread.
[[nodiscard]] std::vector<int> nodes_for(numa_policy policy, const topology& of,
                                         const processor_list& first);

/// Bytes of the nodes on which a policy places the memory of such threads.
[[nodiscard]] std::int64_t node_bytes(numa_policy policy, const topology& of,
                                      const std::vector<processor_list>& threads);

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/topology/numa-inl.hpp>
#endif
