// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <layerbench/base/system.hpp>
#include <layerbench/machine/check.hpp>
#include <layerbench/machine/check_result.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

using processor_reader = std::function<std::optional<machine::processor_times>()>;

/// Reads /proc/stat.
[[nodiscard]] inline std::optional<machine::processor_times> processor_times_now() {
  return machine::processor_times_of();
}

/// Seconds of processors that this process has used, with the commands of meters that have ended.
[[nodiscard]] inline double own_processor_seconds() {
  ::rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  const auto seconds = [](const ::timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return now(clock::process_cpu) + seconds(children.ru_utime) + seconds(children.ru_stime);
}

/// Watches how other programs use the processors, from its construction on.
class machine_watch {
 public:
  /// Fills in the fields of `of` that this process can find out: environment and clock.
  explicit machine_watch(machine::resource_request of, processor_reader read = processor_times_now)
      : of_(std::move(of)), read_(std::move(read)) {
    for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
      if (const char* value = std::getenv(name)) of_.environment[name] = value;
    }
    timespec resolution{};
    ::clock_getres(CLOCK_MONOTONIC, &resolution);
    of_.clock_resolution =
        static_cast<double>(resolution.tv_sec) + 1e-9 * static_cast<double>(resolution.tv_nsec);
    of_.clock_cost = stopwatch(clock_of(of_.threads)).cost().seconds;
    begin_ = read_();
    own_ = own_processor_seconds();
  }

  /// Calls `wait`; what other programs do meanwhile is no disturbance.
  void leave_out(const std::function<void()>& wait) {
    const auto before = read_();
    wait();
    const auto after = read_();
    if (!begin_ || !before || !after) return;
    begin_->busy += after->busy - before->busy;
    begin_->idle += after->idle - before->idle;
    begin_->stolen += after->stolen - before->stolen;
  }

  /// Seconds of processors that the other streams of this program have used, as long as they run.
  void set_other_streams(double seconds) { other_streams_ = seconds; }

  /// Checks the machine now, with the disturbance since construction. For the parameters see
  /// machine::check().
  [[nodiscard]] std::vector<machine::check_result> check_results(
      std::optional<double> slow_share, std::optional<double> core_latency) const {
    return machine::check("/", of_, seen(), slow_share, core_latency);
  }

  /// Who has disturbed since construction, as machine::disturbers() says.
  [[nodiscard]] std::string disturbers(std::optional<double> slow_share) const {
    return machine::disturbers(seen(), slow_share);
  }

 private:
  [[nodiscard]] std::optional<machine::disturbance> seen() const {
    const double ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double own = (own_processor_seconds() - own_ + other_streams_) * ticks_per_second;
    return machine::disturbance_between(begin_, read_(), own);
  }

  machine::resource_request of_;
  processor_reader read_;
  std::optional<machine::processor_times> begin_;
  double own_ = 0;
  double other_streams_ = 0;
};

/// Whether the host of a virtual machine took more of the processors' time between two readings
/// than check_steal() accepts. Always false within half a second: the system counts in ticks of
/// 10 ms.
[[nodiscard]] inline bool host_disturbed(const std::optional<machine::processor_times>& before,
                                         const std::optional<machine::processor_times>& after) {
  constexpr std::int64_t least_ticks = 50;  // per processor
  if (!before || !after) return false;
  const auto all = [](const machine::processor_times& t) { return t.busy + t.idle + t.stolen; };
  if (all(*after) - all(*before) < least_ticks * after->processors) return false;
  return machine::check_steal(machine::disturbance_between(before, after, 0)).how ==
         machine::verdict::bad;
}

}  // namespace layerbench::run
