// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <time.h>
#include <unistd.h>

#include <layerbench/run/clock.hpp>
#include <layerbench/run/machine_check.hpp>

namespace layerbench::run {

/// Watches what else uses the machine's processors, from when it is made.
class machine_watch {
 public:
  /// `of` without what this process can find out itself: environment and clock.
  explicit machine_watch(machine::demand of) : of_(std::move(of)) {
    for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
      if (const char* value = std::getenv(name)) of_.environment[name] = value;
    }
    timespec resolution{};
    ::clock_getres(CLOCK_MONOTONIC, &resolution);
    of_.clock_resolution =
        static_cast<double>(resolution.tv_sec) + 1e-9 * static_cast<double>(resolution.tv_nsec);
    of_.clock_cost = stopwatch(of_.threads).cost().seconds;
    begin_ = machine::processor_times_of();
    own_ = now(clock::process_cpu);
  }

  /// The machine as it is, and what disturbed it since.
  [[nodiscard]] std::vector<machine::finding> findings() const {
    const double ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double own = (now(clock::process_cpu) - own_) * ticks_a_second;
    return machine::check("/", of_, machine::between(begin_, machine::processor_times_of(), own));
  }

 private:
  machine::demand of_;
  std::optional<machine::processor_times> begin_;
  double own_ = 0;
};

}  // namespace layerbench::run
