// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include <hwloc.h>

#include <layerbench/topology/topology.hpp>

/// What hwloc says of a machine, and memory that it binds. No other file uses hwloc.
namespace layerbench::machine {

namespace detail {

struct destroy_topology {
  void operator()(hwloc_topology_t of) const noexcept { hwloc_topology_destroy(of); }
};
struct free_bitmap {
  void operator()(hwloc_bitmap_t of) const noexcept { hwloc_bitmap_free(of); }
};
using topology_handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, destroy_topology>;
using bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, free_bitmap>;

/// Calls `use` for each object of a type.
template <class Use>
void for_each_object(hwloc_topology_t in, hwloc_obj_type_t type, const Use& use) {
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(in, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(in, type, object)) {
    use(*object);
  }
}

}  // namespace detail

/// What a loaded topology says. Parts that it does not know are empty. Objects have the processors
/// that control groups leave.
[[nodiscard]] topology topology_of(hwloc_topology_t loaded);

/// hwloc's description of this machine; of another one where HWLOC_XMLFILE or HWLOC_SYNTHETIC says
/// so.
class hwloc_machine {
 public:
  hwloc_machine();

  [[nodiscard]] const topology& found() const { return found_; }
  /// Whether it is that of the machine that this process runs on.
  [[nodiscard]] bool is_this_system() const;

  /// Asks for memory on these nodes, page by page. Moves pages that are somewhere already. Returns
  /// whether the system did so.
  [[nodiscard]] bool bind_memory(void* at, std::size_t bytes, const std::vector<int>& nodes) const;

 private:
  /// Null where hwloc fails.
  [[nodiscard]] static detail::topology_handle load(const char* without);

  detail::topology_handle handle_;
  topology found_;
};

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/topology/hwloc-inl.hpp>
#endif
