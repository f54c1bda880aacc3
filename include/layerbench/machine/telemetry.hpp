// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <layerbench/backend/device.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

/// Device telemetry (clock rates, power, throttling), in the counters of docs/formats.md.
namespace layerbench::run {

/// A device's telemetry at one moment.
struct telemetry_reading {
  std::map<std::string, double> values;
  double time;  ///< seconds of the wall clock

  [[nodiscard]] static telemetry_reading of(compute_device& device) {
    return {device.telemetry(), stopwatch::now()};
  }
};

namespace detail {

/// Combines two readings: throttling in either counts, all else is averaged. Of the time at the
/// power cap, which only grows, it says whether there was any between them.
[[nodiscard]] inline double combined(const std::string& name, double a, double b) {
  if (name == "throttled") return std::max(a, b);
  if (name == "power_capped") return a == b ? 0 : 1;
  if (name != "throttle_reasons") return (a + b) / 2;
  return static_cast<double>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}

}  // namespace detail

/// Adds the telemetry before and after a measurement pass to its row: the mean of both, and every
/// throttle reason. A clock rate that changed marks the row as disturbed, unless the power cap held
/// the processors back: that is the state in which such work runs, whatever else runs beside it.
/// The row's energy is that of one call at the mean power of the whole pass, waiting included,
/// given if the pass was long enough for the energy counter, which changes every few hundredths of
/// a second.
inline void add_telemetry(const telemetry_reading& before, const telemetry_reading& after,
                          result::measurement& to) {
  constexpr double changed = 0.05;
  constexpr double long_enough = 0.1;       // seconds
  constexpr std::uint64_t power_cap = 0x4;  // NVML's nvmlClocksEventReasonSwPowerCap
  std::set<std::string> moved;              // clocks
  const double seconds = after.time - before.time;
  for (const auto& [name, value] : after.values) {
    const auto known = before.values.find(name);
    const double other = known == before.values.end() ? value : known->second;
    if (name == "energy_j") {
      if (seconds < long_enough || value <= other) continue;
      to.counters[name] = (value - other) / seconds * to.mean_seconds();
      continue;
    }
    to.counters[name] = detail::combined(name, value, other);
    const bool is_clock = name == "sm_mhz" || name == "mem_mhz";
    if (is_clock && std::abs(value - other) > changed * value) moved.insert(name);
  }
  const auto reasons = to.counters.find("throttle_reasons");
  if (reasons != to.counters.end()) {
    double& capped = to.counters["power_capped"];
    if ((static_cast<std::uint64_t>(reasons->second) & power_cap) != 0) capped = 1;
  }
  if (to.power_capped()) moved.erase("sm_mhz");  // memory has its own clock
  if (!moved.empty()) to.counters["disturbed"] = 1;
}

/// Repeats `work`, which waits for its own end, until the device's clock rate and its power are
/// steady: two readings 0.2 s apart differ by at most 2 %, or 5 W. Power follows late, as many GPUs
/// report the mean of a second, and a GPU at its power limit lowers its clock only then. Ends after
/// three seconds in any case. Does nothing where the device has no clock telemetry.
inline void warm_up(compute_device& device, const std::function<void()>& work,
                    const std::function<double()>& now = stopwatch::now) {
  constexpr double longest = 3;  // seconds
  constexpr double interval = 0.2;
  constexpr double steady = 0.02;
  constexpr double least_watts = 5;  // small loads vary by more than 2 %
  const auto look = [&] {
    std::map<std::string, double> all = device.telemetry();
    return std::array{all["sm_mhz"], all["power_w"]};  // 0: unknown
  };
  if (look().front() <= 0) return;
  const double start = now();
  double last_clock = 0;
  double last_power = 0;
  for (double last = start; last - start < longest; last = now()) {
    while (now() - last < interval && !interrupt_guard::interrupted()) work();
    const auto [clock, power] = look();
    const bool is_steady = std::abs(clock - last_clock) <= steady * clock &&
                           std::abs(power - last_power) <= std::max(steady * power, least_watts);
    if (is_steady || interrupt_guard::interrupted()) return;
    last_clock = clock;
    last_power = power;
  }
}

/// Keeps devices warm: warms them up before their first timing, and after a pause.
class device_warmer {
 public:
  /// To be called before each timing. `work` is enqueued only, so that it need not wait. `always`:
  /// also where the device was busy until now.
  template <class Work>
  void prepare(compute_device& device, Work&& work, bool always = false) {
    constexpr double pause = 10;  // seconds; clocks sink after some
    const auto [latest, is_first] = latest_.try_emplace(&device, 0);
    if (is_first || always || stopwatch::now() - latest->second > pause) {
      warm_up(device, [&] {
        work();
        device.synchronize();
      });
    }
    latest->second = stopwatch::now();
  }

 private:
  std::map<const compute_device*, double> latest_;  ///< when prepare() was called
};

}  // namespace layerbench::run
