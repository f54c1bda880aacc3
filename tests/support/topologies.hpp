// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <hwloc.h>

#include <gmock/gmock.h>

#include <layerbench/topology/hwloc.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/thread_places.hpp>
#include <layerbench/topology/topology.hpp>

/// Machines that are not there, as hwloc describes them.
namespace layerbench::testing {

using machine::processor_list;
using machine::topology;

inline constexpr std::int64_t kib = 1024;
inline constexpr std::int64_t mib = 1024 * kib;
inline constexpr std::int64_t gib = 1024 * mib;

/// What hwloc finds where `source` says what there is, changed by `change` when it is loaded.
inline topology loaded(const std::function<int(hwloc_topology_t)>& source,
                       const std::function<int(hwloc_topology_t)>& change = {}) {
  hwloc_topology_t empty = nullptr;
  EXPECT_EQ(hwloc_topology_init(&empty), 0);
  const machine::detail::topology_handle handle(empty);
  EXPECT_EQ(source(empty), 0);
  EXPECT_EQ(hwloc_topology_load(empty), 0);
  if (change) {
    EXPECT_EQ(change(empty), 0);
  }
  return machine::topology_of(empty);
}
inline topology synthetic(const std::string& text, const processor_list& cpuset = {}) {
  const auto restrict = [&](hwloc_topology_t to) {
    const machine::detail::bitmap set(hwloc_bitmap_alloc());
    for (const int processor : cpuset)
      hwloc_bitmap_set(set.get(), static_cast<unsigned>(processor));
    return cpuset.empty() ? 0 : hwloc_topology_restrict(to, set.get(), 0);
  };
  return loaded([&](hwloc_topology_t to) { return hwloc_topology_set_synthetic(to, text.c_str()); },
                restrict);
}
inline topology from_file(const std::string& name) {
  const std::string file = LAYERBENCH_SOURCE_DIR "/tests/data/topology/" + name + ".xml";
  return loaded([&](hwloc_topology_t to) { return hwloc_topology_set_xml(to, file.c_str()); });
}

inline topology two_sockets() {
  return synthetic(
      "pack:2 [numa(memory=274877906944)] l3:4(size=33554432) l2:8(size=1048576) l1d:1(size=32768) "
      "core:1 pu:2");
}
inline constexpr const char* eight_caches =
    "pack:1 [numa(memory=68719476736)] l3:8(size=33554432) l2:8(size=1048576) l1d:1(size=32768) "
    "core:1 pu:1";

inline processor_list range(int first, int count, int stride = 1) {
  processor_list all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = first + i * stride;
  return all;
}

/// As the programs bind threads on that machine.
inline machine::thread_binding bound(const topology& of, const std::set<int>& threads = {}) {
  machine::thread_binding result{.order = machine::thread_order::close};
  for (const int processor : machine::processors_in_order(of, of.processors(), threads))
    result.places.push_back({processor});
  return result;
}
inline std::vector<processor_list> threads_on(const topology& of, int threads) {
  return machine::processors_by_thread(bound(of, {threads}), threads);
}
inline processor_list processors_for(const topology& of, int threads) {
  return machine::united(threads_on(of, threads));
}
inline machine::used_caches caches_for(const topology& of, int threads) {
  return machine::caches_used_by(of, threads_on(of, threads));
}

}  // namespace layerbench::testing
