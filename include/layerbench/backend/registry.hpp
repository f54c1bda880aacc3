// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>

/// The backends and ops that a program has, as values.
namespace layerbench::run {

/// A backend that layerbench has and a build may lack, and the CMake option that builds it.
struct optional_backend {
  std::string_view name;
  std::string_view option;
  bool collective = false;
};

inline constexpr std::array<optional_backend, 8> optional_backends{{
    {"cudnn", "LAYERBENCH_CUDA"},
    {"cublas", "LAYERBENCH_CUDA"},
    {"onednn", "LAYERBENCH_ONEDNN"},
    {"mkl", "LAYERBENCH_MKL"},
    {"openblas", "LAYERBENCH_OPENBLAS"},
    {"blis", "LAYERBENCH_BLIS"},
    {"nccl", "LAYERBENCH_CUDA", true},
    {"mpi", "LAYERBENCH_MPI", true},
}};

/// What a program can measure: its backends, the preferred one first, and its ops.
struct registry {
  std::vector<backend_entry> backends;
  op::catalog ops;                        ///< what shape files may contain
  reference::oracle oracle;               ///< the right results of all ops that it measures
  std::vector<optional_backend> unbuilt;  ///< what this build lacks

  /// Null where there is none of that name.
  [[nodiscard]] const backend_entry* find(std::string_view name) const {
    const auto found = std::ranges::find(backends, name, &backend_entry::name);
    return found == backends.end() ? nullptr : &*found;
  }
};

/// Where the threads of this program run: as the first of these backends binds them.
[[nodiscard]] inline machine::thread_binding binding_of(const registry& known) {
  const auto binds = [](const backend_entry& entry) { return entry.binding != nullptr; };
  const auto first = std::ranges::find_if(known.backends, binds);
  return first == known.backends.end() ? machine::binding_of_this_thread() : first->binding();
}

/// Notes which of the optional backends the registry of a build lacks.
inline void note_unbuilt(registry& all, bool collective) {
  for (const optional_backend& item : optional_backends) {
    if (item.collective == collective && all.find(item.name) == nullptr)
      all.unbuilt.push_back(item);
  }
}

}  // namespace layerbench::run
