// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/topology/topology.hpp>

/// The processors on which threads run, and the caches and memory that they find there.
namespace layerbench::machine {

/// How OpenMP deals its places out to threads (OpenMP 5.2, 10.1.3).
enum class thread_order { free, close, spread, primary };

/// The places of a process, each a list of processors. Free threads move on all of them.
struct thread_binding {
  std::vector<processor_list> places = {};
  thread_order order = thread_order::free;
  std::size_t first = 0;  ///< index of the first thread's place

  [[nodiscard]] processor_list processors() const;
};

/// Whether a value of OMP_PROC_BIND says that threads are not bound. OpenMP ignores case.
[[nodiscard]] bool leaves_threads_free(std::string_view bind);

/// For each of `threads` threads the processors that it may run on.
[[nodiscard]] std::vector<processor_list> processors_by_thread(const thread_binding& of,
                                                               int threads);

/// Data caches that some threads use, in bytes; 0 where that is not known.
struct used_caches {
  std::array<std::int64_t, 3> core{};  ///< by level: of the first thread's core
  /// By level: what all threads together keep cached if each uses an equal part of it.
  std::array<std::int64_t, 3> equal_parts{};
  std::int64_t private_bytes = 0;  ///< of the level before the last one, all together
  std::int64_t last_bytes = 0;     ///< of the last level, all together
};

/// The caches that threads on these processors use (processors_by_thread).
[[nodiscard]] used_caches caches_used_by(const topology& of,
                                         const std::vector<processor_list>& threads);

/// The nodes whose memory is local to these processors (innermost_nodes).
[[nodiscard]] std::vector<const memory_node*> nodes_of(const topology& of,
                                                       const processor_list& processors);

/// The processors that some of the threads may use.
[[nodiscard]] inline processor_list united(const std::vector<processor_list>& threads) {
  return thread_binding{threads}.processors();
}

/// How many of these threads share a core with an earlier one, although bound.
[[nodiscard]] int threads_sharing_cores(const topology& of,
                                        const std::vector<processor_list>& threads);

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/topology/thread_binding-inl.hpp>
#endif
