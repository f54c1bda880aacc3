// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>

#include <time.h>
#include <unistd.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE std::optional<machine::processor_times> processor_times_now() {
  return machine::processor_times_of();
}

LAYERBENCH_INLINE bool host_disturbed(const std::optional<machine::processor_times>& before,
                                      const std::optional<machine::processor_times>& after) {
  constexpr std::int64_t least_ticks = 50;  // per processor
  if (!before || !after) return false;
  const auto all = [](const machine::processor_times& t) { return t.busy + t.idle + t.stolen; };
  if (all(*after) - all(*before) < least_ticks * after->processors) return false;
  return machine::check_steal(machine::disturbance_between(before, after, 0)).how ==
         machine::verdict::bad;
}

LAYERBENCH_INLINE machine_watch::machine_watch(machine::resource_request of) : of_(std::move(of)) {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    if (const char* value = std::getenv(name)) of_.environment[name] = value;
  }
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC, &resolution);
  of_.clock_resolution =
      static_cast<double>(resolution.tv_sec) + 1e-9 * static_cast<double>(resolution.tv_nsec);
  of_.clock_cost = stopwatch(clock_of(of_.threads)).cost().seconds;
  begin_ = machine::processor_times_of();
  own_ = now(clock::process_cpu);
}

LAYERBENCH_INLINE void machine_watch::leave_out(const std::function<void()>& wait) {
  const auto before = machine::processor_times_of();
  wait();
  const auto after = machine::processor_times_of();
  if (!begin_ || !before || !after) return;
  begin_->busy += after->busy - before->busy;
  begin_->idle += after->idle - before->idle;
  begin_->stolen += after->stolen - before->stolen;
}

LAYERBENCH_INLINE std::vector<machine::check_result> machine_watch::check_results(
    std::optional<double> slow_share, std::optional<double> core_latency) const {
  return machine::check("/", of_, seen(), slow_share, core_latency);
}

LAYERBENCH_INLINE std::string machine_watch::disturbers(std::optional<double> slow_share) const {
  return machine::disturbers(seen(), slow_share);
}

LAYERBENCH_INLINE std::optional<machine::disturbance> machine_watch::seen() const {
  const double ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double own = (now(clock::process_cpu) - own_) * ticks_per_second;
  return machine::disturbance_between(begin_, machine::processor_times_of(), own);
}

}  // namespace layerbench::run
