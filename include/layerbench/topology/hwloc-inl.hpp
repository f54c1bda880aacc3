// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/topology/hwloc.hpp>

namespace layerbench::machine {

namespace detail {

[[nodiscard]] inline processor_list list_of(hwloc_const_bitmap_t set) {
  processor_list all;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) all.push_back(i);
  return all;
}

/// A core's kind, which grows with speed (hwloc calls that efficiency); 0 where hwloc does not rank
/// the kinds, or all cores are alike.
[[nodiscard]] inline int kind_of(hwloc_topology_t in, const hwloc_obj& core) {
  const int kind = hwloc_cpukinds_get_by_cpuset(in, core.cpuset, 0);
  int efficiency = 0;
  if (kind < 0 || hwloc_cpukinds_get_info(in, static_cast<unsigned>(kind), nullptr, &efficiency,
                                          nullptr, nullptr, 0) != 0) {
    return 0;
  }
  return std::max(0, efficiency);
}

[[nodiscard]] inline std::optional<std::int64_t> bandwidth_of(hwloc_topology_t in,
                                                              hwloc_obj& node) {
  hwloc_location from{};
  from.type = HWLOC_LOCATION_TYPE_CPUSET;
  from.location.cpuset = node.cpuset;
  hwloc_uint64_t mebibytes = 0;
  if (hwloc_memattr_get_value(in, HWLOC_MEMATTR_ID_BANDWIDTH, &node, &from, 0, &mebibytes) != 0)
    return std::nullopt;
  return static_cast<std::int64_t>(mebibytes << 20U);
}

}  // namespace detail

LAYERBENCH_INLINE topology topology_of(hwloc_topology_t loaded) {
  topology found;
  detail::for_each_object(loaded, HWLOC_OBJ_CORE, [&](const hwloc_obj& object) {
    found.cores.push_back({detail::list_of(object.cpuset), detail::kind_of(loaded, object)});
  });
  if (found.cores.empty()) {
    detail::for_each_object(loaded, HWLOC_OBJ_PU, [&](const hwloc_obj& object) {
      found.cores.push_back({detail::list_of(object.cpuset)});
    });
  }
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    detail::for_each_object(loaded, type, [&](const hwloc_obj& object) {
      const auto bytes = static_cast<std::int64_t>(object.attr->cache.size);
      if (bytes <= 0) return;
      found.caches.push_back(
          {static_cast<int>(object.attr->cache.depth), bytes, detail::list_of(object.cpuset)});
    });
  }
  detail::for_each_object(loaded, HWLOC_OBJ_NUMANODE, [&](hwloc_obj& object) {
    found.nodes.push_back({static_cast<int>(object.os_index),
                           static_cast<std::int64_t>(object.attr->numanode.local_memory),
                           detail::list_of(object.cpuset), detail::bandwidth_of(loaded, object)});
  });
  detail::for_each_object(loaded, HWLOC_OBJ_PACKAGE, [&](const hwloc_obj& object) {
    found.packages.push_back(detail::list_of(object.cpuset));
  });
  return found;
}

LAYERBENCH_INLINE hwloc_machine::hwloc_machine() {
  // The component x86 asks each processor itself, which takes long on virtual machines.
  handle_ = load("x86");
  if (handle_) found_ = topology_of(handle_.get());
  if (!found_.caches.empty()) return;
  handle_ = load(nullptr);
  if (handle_) found_ = topology_of(handle_.get());
}

LAYERBENCH_INLINE bool hwloc_machine::is_this_system() const {
  return handle_ && hwloc_topology_is_thissystem(handle_.get()) != 0;
}

LAYERBENCH_INLINE bool hwloc_machine::bind_memory(void* at, std::size_t bytes,
                                                  const std::vector<int>& nodes) const {
  if (!is_this_system()) return false;
  const detail::bitmap set(hwloc_bitmap_alloc());
  for (const int node : nodes) hwloc_bitmap_set(set.get(), static_cast<unsigned>(node));
  const auto how = nodes.size() > 1 ? HWLOC_MEMBIND_INTERLEAVE : HWLOC_MEMBIND_BIND;
  return hwloc_set_area_membind(handle_.get(), at, bytes, set.get(), how,
                                HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE) == 0;
}

LAYERBENCH_INLINE detail::topology_handle hwloc_machine::load(const char* without) {
  hwloc_topology_t empty = nullptr;
  if (hwloc_topology_init(&empty) != 0) return nullptr;
  detail::topology_handle result(empty);
  if (without != nullptr) {
    hwloc_topology_set_components(result.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, without);
  }
  return hwloc_topology_load(result.get()) == 0 ? std::move(result) : nullptr;
}

}  // namespace layerbench::machine
