// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/topology/hwloc.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

/// The machine that this process runs on.
namespace layerbench::machine {

/// The processors that the system lets this thread run on.
[[nodiscard]] processor_list processors_of_this_thread();

/// Lets this thread run on these processors, as far as control groups leave them.
void run_this_thread_on(const processor_list& processors);

/// The processors that control groups leave this process; its affinity mask may leave fewer.
[[nodiscard]] processor_list processors_of_control_groups();

/// This thread, wherever it may run.
[[nodiscard]] inline thread_binding binding_of_this_thread() {
  return {{processors_of_this_thread()}};
}

/// hwloc's description of this machine, read once.
[[nodiscard]] const hwloc_machine& this_hwloc_machine();

/// This machine. What hwloc does not know is guessed, and noted.
[[nodiscard]] const topology& this_machine();

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/topology/this_machine-inl.hpp>
#endif
