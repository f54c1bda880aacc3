// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include <layerbench/shape/record.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

/// On which NUMA node memory lies.
namespace layerbench::machine {

/// first_touch: near the thread that uses it first, as the system does it. interleave: on all
/// nodes, page by page. local: near the first thread.
enum class numa_policy : std::uint8_t { first_touch, interleave, local };

}  // namespace layerbench::machine

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::machine::numa_policy>{"first-touch", "interleave", "local"};

namespace layerbench::machine {

/// How many nodes these processors belong to; several nodes of the same processors count once.
[[nodiscard]] inline int node_count(const topology& of, const processor_list& processors) {
  std::set<processor_list> found;
  for (const memory_node* node : nodes_of(of, processors)) found.insert(node->processors);
  return static_cast<int>(found.size());
}

/// The numbers of the nodes that a policy restricts memory to; none where the system places it: by
/// first touch, and on a machine of one node. `first`: the processors of the first thread.
[[nodiscard]] inline std::vector<int> nodes_for(numa_policy policy, const topology& of,
                                                const processor_list& first) {
  std::vector<int> numbers;
  if (policy == numa_policy::first_touch || node_count(of, of.processors()) <= 1) return numbers;
  const processor_list all = of.processors();
  const bool local = policy == numa_policy::local;
  for (const memory_node* node : nodes_of(of, local ? first : all)) numbers.push_back(node->number);
  if (local && numbers.size() > 1) numbers.resize(1);
  return numbers;
}

/// Bytes of the nodes on which a policy places the memory of such threads.
[[nodiscard]] inline std::int64_t node_bytes(numa_policy policy, const topology& of,
                                             const std::vector<processor_list>& threads) {
  std::int64_t sum = 0;
  const processor_list first = threads.empty() ? processor_list() : threads.front();
  const processor_list touching = united(threads);
  const std::vector<int> numbers = nodes_for(policy, of, first);
  for (const memory_node& node : of.nodes) {
    const bool used = numbers.empty() ? intersect(node.processors, touching)
                                      : std::ranges::find(numbers, node.number) != numbers.end();
    if (used) sum += node.bytes;
  }
  return sum;
}

}  // namespace layerbench::machine
