// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/base/system.hpp>
#include <layerbench/machine/check.hpp>
#include <layerbench/machine/check_result.hpp>

namespace layerbench::run {

using processor_reader = std::function<std::optional<machine::processor_times>()>;

/// Reads /proc/stat.
[[nodiscard]] std::optional<machine::processor_times> processor_times_now();

/// Whether the host of a virtual machine took more of the processors' time between two readings
/// than check_steal() accepts. Always false within half a second: the system counts in ticks of
/// 10 ms.
[[nodiscard]] bool host_disturbed(const std::optional<machine::processor_times>& before,
                                  const std::optional<machine::processor_times>& after);

/// Watches how other programs use the processors, from its construction on.
class machine_watch {
 public:
  /// Fills in the fields of `of` that this process can find out: environment and clock.
  explicit machine_watch(machine::resource_request of);

  /// Calls `wait`; what other programs do meanwhile is no disturbance.
  void leave_out(const std::function<void()>& wait);

  /// Checks the machine now, with the disturbance since construction. For the parameters see
  /// machine::check().
  [[nodiscard]] std::vector<machine::check_result> check_results(
      std::optional<double> slow_share, std::optional<double> core_latency) const;

  /// Who has disturbed since construction, as machine::disturbers() says.
  [[nodiscard]] std::string disturbers(std::optional<double> slow_share) const;

 private:
  [[nodiscard]] std::optional<machine::disturbance> seen() const;

  machine::resource_request of_;
  std::optional<machine::processor_times> begin_;
  double own_ = 0;
};

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/machine/watch-inl.hpp>
#endif
