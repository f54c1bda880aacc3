// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// nodes with memory, page by page. local: near the first thread.
enum class numa_policy : std::uint8_t { first_touch, interleave, local };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(numa_policy /*tag*/) {
  return {"first-touch", "interleave", "local"};
}

/// The nodes that these processors belong to; of several nodes of the same processors the first.
[[nodiscard]] inline std::vector<const memory_node*> distinct_nodes(
    const topology& of, const processor_list& processors) {
  std::vector<const memory_node*> found = nodes_of(of, processors);
  std::set<processor_list> seen;
  std::erase_if(found,
                [&](const memory_node* node) { return !seen.insert(node->processors).second; });
  return found;
}

/// How many nodes these processors belong to; several nodes of the same processors count once.
[[nodiscard]] inline int node_count(const topology& of, const processor_list& processors) {
  return static_cast<int>(distinct_nodes(of, processors).size());
}

/// For each thread the number of its node. Threads that may move between nodes count as alternating
/// between them.
[[nodiscard]] inline std::vector<int> node_by_thread(const topology& of,
                                                     const std::vector<processor_list>& threads) {
  std::vector<int> numbers;
  for (const processor_list& processors : threads) {
    const std::vector<const memory_node*> nodes = distinct_nodes(of, processors);
    numbers.push_back(nodes.empty() ? 0 : nodes[numbers.size() % nodes.size()]->number);
  }
  return numbers;
}

/// The numbers of the nodes that a policy restricts memory to; none where the system places it: by
/// first touch, and on a machine of one node with memory. `first`: the processors of the first
/// thread.
[[nodiscard]] inline std::vector<int> nodes_for(numa_policy policy, const topology& of,
                                                const processor_list& first) {
  std::vector<int> numbers;
  for (const memory_node& node : of.nodes) {
    if (node.bytes > 0) numbers.push_back(node.number);
  }
  if (policy == numa_policy::first_touch || numbers.size() < 2) return {};
  if (policy == numa_policy::interleave) return numbers;
  for (const memory_node* node : nodes_of(of, first)) {
    if (node->bytes > 0) return {node->number};
  }
  return {};
}

/// Bytes of the nodes on which a policy places the memory of such threads.
[[nodiscard]] inline std::int64_t node_bytes(numa_policy policy, const topology& of,
                                             const std::vector<processor_list>& threads) {
  std::int64_t sum = 0;
  const processor_list first = threads.empty() ? processor_list() : threads.front();
  const processor_list touching = united(threads);
  const std::vector<int> numbers = nodes_for(policy, of, first);
  if (numbers.empty()) {
    for (const memory_node* node : nodes_of(of, touching)) sum += node->bytes;
  }
  for (const memory_node& node : of.nodes) {
    if (contains(numbers, node.number)) sum += node.bytes;
  }
  return sum;
}

}  // namespace layerbench::machine
