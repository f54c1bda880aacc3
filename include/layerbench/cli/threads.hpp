// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

#include <unistd.h>

#include <layerbench/base/system.hpp>

namespace layerbench::run {

/// How many processes a launcher of MPI started, this one included; 1 where there was none.
[[nodiscard]] inline std::int64_t launched_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {  // Open MPI; MPICH and its kin
    if (const char* size = std::getenv(name)) return machine::number_in(size).value_or(1);
  }
  return 1;
}

/// Sets this program's defaults for the OpenMP run time, which reads them once, when it is loaded:
/// threads bound to neighbouring cores, which is both faster and more repeatable than free
/// ones. Values that the user set stay. Restarts the program where something was to be set.
inline void settle_threads(char** argv) {
  // A launcher of several binds each; all would bind their threads to the same first cores.
  if (launched_processes() > 1) return;
  bool changed = false;
  const auto set = [&](const char* name, const char* value) {
    if (std::getenv(name) != nullptr) return;
    ::setenv(name, value, 1);
    changed = true;
  };
  // A user who binds threads in one of these ways has bound them.
  if (std::getenv("GOMP_CPU_AFFINITY") == nullptr && std::getenv("KMP_AFFINITY") == nullptr) {
    set("OMP_PROC_BIND", "close");
    set("OMP_PLACES", "cores");
  }
  if (!changed) return;
  // By its own path, which gives the process its name. When that fails threads stay unbound, and
  // the context shows what was asked for.
  if (const auto program = machine::this_program()) ::execv(program->c_str(), argv);
  ::execv("/proc/self/exe", argv);
}

}  // namespace layerbench::run
