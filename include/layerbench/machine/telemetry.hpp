// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <layerbench/backend/device.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

/// What devices say of themselves, in counters of docs/formats.md.
namespace layerbench::run {

/// What a device said of itself at a time.
struct telemetry_reading {
  std::map<std::string, double> values;
  double time;  ///< seconds of the wall clock

  [[nodiscard]] static telemetry_reading of(compute_device& device) {
    return {device.telemetry(), stopwatch::now()};
  }
};

namespace detail {

[[nodiscard]] inline double both(const std::string& name, double a, double b) {
  if (name == "throttled") return std::max(a, b);
  if (name != "throttle_reasons") return (a + b) / 2;
  return static_cast<double>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}

}  // namespace detail

/// Adds to a row what its device said before and after the visit: the mean, and of what held it
/// back all. A clock that moved makes the visit a disturbed one. Of the energy the row gets what a
/// call takes at the mean power of the whole visit, if that lasted long enough for the counter,
/// which moves every few hundredths of a second.
inline void add_telemetry(const telemetry_reading& before, const telemetry_reading& after,
                          result::measurement& to) {
  constexpr double moved = 0.05;
  constexpr double long_enough = 0.1;  // seconds
  const double passed = after.time - before.time;
  for (const auto& [name, value] : after.values) {
    const auto known = before.values.find(name);
    const double other = known == before.values.end() ? value : known->second;
    if (name == "energy_j") {
      if (passed < long_enough || value <= other) continue;
      to.counters[name] = (value - other) / passed * to.mean_seconds();
      continue;
    }
    to.counters[name] = detail::both(name, value, other);
    const bool is_clock = name == "sm_mhz" || name == "mem_mhz";
    if (is_clock && std::abs(value - other) > moved * value) to.counters["disturbed"] = 1;
  }
}

/// Runs `work`, which waits for its end, until the device's clock has settled: until two readings
/// in a row, a fifth of a second of work before each, differ by no more than 2 %; but for no more
/// than three seconds. Not at all where the device does not tell its clock.
inline void warm_up(compute_device& device, const std::function<void()>& work,
                    const std::function<double()>& now = stopwatch::now) {
  constexpr double longest = 3;  // seconds
  constexpr double between = 0.2;
  constexpr double steady = 0.02;
  const auto clock_now = [&] {
    const std::map<std::string, double> all = device.telemetry();
    const auto found = all.find("sm_mhz");
    return found == all.end() ? 0.0 : found->second;
  };
  if (clock_now() <= 0) return;
  const double start = now();
  double known = 0;
  for (double last = start; last - start < longest; last = now()) {
    while (now() - last < between && !interrupt_guard::interrupted()) work();
    const double read = clock_now();
    if (std::abs(read - known) <= steady * read || interrupt_guard::interrupted()) return;
    known = read;
  }
}

}  // namespace layerbench::run
