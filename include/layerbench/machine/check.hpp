// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/base/system.hpp>
#include <layerbench/machine/check_result.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

/// Checks whether a machine is fit to measure on.
namespace layerbench::machine {

/// The resources that a measurement needs, and what this process knows about itself.
struct resource_request {
  int threads = 1;             ///< largest number in any case
  int processors = 1;          ///< that the library may use
  std::int64_t footprint = 0;  ///< bytes that the largest case touches; 0: not known
  std::map<std::string, std::string> environment = {};  ///< binding variables of OpenMP
  double clock_resolution = 0;                          ///< seconds
  double clock_cost = 0;                                ///< seconds per reading
  topology machine = {};
  thread_binding binding = {};  ///< no place: not known
  numa_policy numa = numa_policy::first_touch;
  std::int64_t processes = 1;  ///< that a launcher started together

  /// Memory of the largest case: one ring of constants, one of activations.
  [[nodiscard]] std::int64_t needed_bytes() const { return 2 * footprint; }
  /// For each thread the processors that it may run on.
  [[nodiscard]] std::vector<processor_list> thread_processors() const;
  /// The cores of the processors that the library may use.
  [[nodiscard]] int usable_cores() const;
};

/// How other programs and the host used the processors in some interval.
struct disturbance {
  double others = 0;  ///< processors that other programs kept busy
  double stolen = 0;  ///< share of the time that the host of a virtual machine took
  int processors = 0;
};

/// The disturbance between two readings; none when they are too close. `own` is the CPU time of
/// this process in between, in ticks.
[[nodiscard]] std::optional<disturbance> disturbance_between(
    const std::optional<processor_times>& before, const std::optional<processor_times>& after,
    double own);

/// Processors that other programs may keep busy without a remark.
inline constexpr double little_load = 0.1;

[[nodiscard]] check_result check_load(const path& root, const resource_request& of,
                                      const std::optional<disturbance>& seen);

[[nodiscard]] check_result check_steal(const std::optional<disturbance>& seen);

/// `slow_share` is the share of the time in which the processors ran slower than usual.
[[nodiscard]] check_result check_slowdown(std::optional<double> slow_share);

/// Who disturbed the timings, and how much: "other programs (1.20 of 2 processors), the host (8.3 %
/// of the time)". Empty if nobody was seen. For `slow_share` see check_slowdown().
[[nodiscard]] std::string disturbers(const std::optional<disturbance>& seen,
                                     std::optional<double> slow_share);

[[nodiscard]] check_result check_frequency_scaling(const path& root);

/// What hwloc says of the machine, and whether anything was guessed in its place.
[[nodiscard]] check_result check_topology(const resource_request& of);

/// `core_latency` is the seconds that a cache line takes from one used core to another and back.
[[nodiscard]] check_result check_cores(const resource_request& of,
                                       std::optional<double> core_latency);

[[nodiscard]] check_result check_binding(const resource_request& of);

/// Whether the threads are on one NUMA node, and its memory suffices.
[[nodiscard]] check_result check_nodes(const resource_request& of);

[[nodiscard]] check_result check_quota(const path& root, const resource_request& of);

[[nodiscard]] check_result check_hypervisor(const path& root);

[[nodiscard]] check_result check_memory(const path& root, const resource_request& of);

[[nodiscard]] check_result check_clock_source(const path& root, const resource_request& of);

[[nodiscard]] check_result check_huge_pages(const path& root);

/// Runs all checks. `root` is "/", or a folder with a copy of the system's files. For `slow_share`
/// see check_slowdown(), for `core_latency` check_cores().
[[nodiscard]] std::vector<check_result> check(const path& root, const resource_request& of,
                                              const std::optional<disturbance>& seen,
                                              std::optional<double> slow_share,
                                              std::optional<double> core_latency);

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/machine/check-inl.hpp>
#endif
