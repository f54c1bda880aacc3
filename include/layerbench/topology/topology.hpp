// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a machine consists of, as plain data: made by topology/hwloc.hpp, or by a test.
namespace layerbench::machine {

/// Hardware threads by the system's numbers, each once.
using processor_list = std::vector<int>;

struct core {
  processor_list processors;  ///< its SMT siblings, the first one first
  int kind = 0;               ///< of hybrid machines: the larger, the faster
};

/// A data cache, or one of data and instructions.
struct cache {
  int level = 0;  ///< from 1
  std::int64_t bytes = 0;
  processor_list processors;  ///< that share it
};

/// A NUMA node.
struct memory_node {
  int number = 0;  ///< the system's
  std::int64_t bytes = 0;
  processor_list processors;                   ///< for which it is local
  std::optional<std::int64_t> bandwidth = {};  ///< bytes/s, where the firmware says it
};

/// The parts of a machine that control groups leave to this process; its affinity mask may leave
/// fewer. Neighbours in a list are neighbours in the machine.
struct topology {
  std::vector<core> cores = {};
  std::vector<cache> caches = {};
  std::vector<memory_node> nodes = {};
  std::vector<processor_list> packages = {};      ///< sockets
  std::optional<std::int64_t> memory_limit = {};  ///< bytes, of a control group
  std::string note = {};                          ///< what was guessed, and why; empty: nothing
  std::int64_t memory = 0;                        ///< bytes that the system has; 0: unknown

  [[nodiscard]] processor_list processors() const;
};

[[nodiscard]] bool contains(const processor_list& list, int processor);

[[nodiscard]] bool intersect(const processor_list& a, const processor_list& b);

/// The caches that a processor uses, the nearest one first.
[[nodiscard]] std::vector<const cache*> caches_of(const topology& of, int processor);

/// The last-level caches of these processors, each once.
[[nodiscard]] std::vector<const cache*> last_level_caches(const topology& of,
                                                          const processor_list& processors);
[[nodiscard]] inline std::vector<const cache*> last_level_caches(const topology& of) {
  return last_level_caches(of, of.processors());
}

/// The NUMA nodes, except those whose processors include all of a smaller node's, such as memory
/// behind CXL.
[[nodiscard]] std::vector<const memory_node*> innermost_nodes(const topology& of);

/// Bytes of memory that the nodes have together.
[[nodiscard]] std::int64_t memory_of_nodes(const topology& of);

/// Whether the nodes have the memory of the system. Those of a virtual machine may lack what was
/// plugged in since it started.
[[nodiscard]] bool knows_node_sizes(const topology& of);

/// How many cores these processors belong to.
[[nodiscard]] std::size_t cores_of(const topology& of, const processor_list& processors);

/// Adds to the note.
void add_note(topology& of, const std::string& what);

/// Replaces what the system did not say by guesses, and notes that: each of `usable` is a core, and
/// has the first two of the caches of `cache_bytes` for itself; the third one is shared by all.
/// Notes that a shared cache may be hidden where several cores have none.
[[nodiscard]] topology completed(topology known, const processor_list& usable,
                                 const std::array<std::int64_t, 3>& cache_bytes);

/// One line: "1 package, 1 node (16 GB), 1 L3 (32 MB), 2 cores, 2 processors", equal in all runs on
/// a machine.
[[nodiscard]] std::string text(const topology& of);

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/topology/topology-inl.hpp>
#endif
