// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <layerbench/base/system.hpp>
#include <layerbench/machine/energy_counter.hpp>

/// Counters of energy that processors have (RAPL), through Linux. All files are below a `root`:
/// "/", or a copy of them.
namespace layerbench::run {

/// An event of the kernel's performance counters that counts energy.
struct perf_energy_event {
  std::string name;             ///< "energy-pkg"
  std::uint32_t type;           ///< of the counters
  std::uint64_t config;         ///< of the event
  double joules_per_count;      ///< its scale
  std::vector<int> processors;  ///< one of each package: events are opened on these
};

/// The energies of packages and DRAM that sys/bus/event_source/devices/power describes, as far as
/// they are in joules. Empty where the kernel has none.
[[nodiscard]] std::vector<perf_energy_event> perf_energy_events(const machine::path& root = "/");

/// The counter of the powercap files of AMD's and Intel's processors: all packages, and their DRAM
/// if it is counted and readable on all of them. Null where there is none, or a package cannot be
/// read; then the reason is added to `reasons`.
[[nodiscard]] std::unique_ptr<energy_counter> powercap_energy(const machine::path& root,
                                                              std::vector<std::string>& reasons);

/// The counter of the events of perf_energy_events(), in the same way.
[[nodiscard]] std::unique_ptr<energy_counter> perf_energy(const machine::path& root,
                                                          std::vector<std::string>& reasons);

/// The first of these counters that can be read. Throws unavailable, naming what was looked for.
[[nodiscard]] std::unique_ptr<energy_counter> processor_energy(const machine::path& root = "/");

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/machine/processor_energy-inl.hpp>
#endif
