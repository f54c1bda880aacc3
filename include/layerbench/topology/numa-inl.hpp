// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include <layerbench/base/compiled.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench::machine {

LAYERBENCH_INLINE std::vector<const memory_node*> distinct_nodes(const topology& of,
                                                                 const processor_list& processors) {
  std::vector<const memory_node*> found = nodes_of(of, processors);
  std::set<processor_list> seen;
  std::erase_if(found,
                [&](const memory_node* node) { return !seen.insert(node->processors).second; });
  return found;
}

LAYERBENCH_INLINE int node_count(const topology& of, const processor_list& processors) {
  return static_cast<int>(distinct_nodes(of, processors).size());
}

LAYERBENCH_INLINE std::vector<int> node_by_thread(const topology& of,
                                                  const std::vector<processor_list>& threads) {
  std::vector<int> numbers;
  for (const processor_list& processors : threads) {
    const std::vector<const memory_node*> nodes = distinct_nodes(of, processors);
    numbers.push_back(nodes.empty() ? 0 : nodes[numbers.size() % nodes.size()]->number);
  }
  return numbers;
}

LAYERBENCH_INLINE std::vector<int> nodes_for(numa_policy policy, const topology& of,
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

LAYERBENCH_INLINE std::int64_t node_bytes(numa_policy policy, const topology& of,
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
