// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/timing/interrupt.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE void add_telemetry(const std::vector<telemetry_reading>& readings,
                                     result::measurement& to) {
  constexpr double changed = 0.05;
  constexpr double long_enough = 0.1;  // seconds
  std::map<std::string, std::vector<double>> all;
  for (const telemetry_reading& reading : readings) {
    for (const auto& [name, value] : reading.values) all[name].push_back(value);
  }
  const double seconds = readings.back().time - readings.front().time;
  std::set<std::string> moved;  // clocks
  for (const auto& [name, values] : all) {
    const auto [least, most] = std::ranges::minmax(values);
    double& counter = to.counters[name];
    counter = stats::mean(values);
    if (name == "sm_mhz" || name == "mem_mhz") {
      if (most - least > changed * most) moved.insert(name);
    } else if (name == "throttled") {
      to.counters["throttled_share"] = counter;
      counter = most;
    } else if (name == "throttle_reasons") {
      std::uint64_t bits = 0;
      for (const double value : values) bits |= static_cast<std::uint64_t>(value);
      counter = static_cast<double>(bits);
    } else if (name == "power_capped") {
      counter = most > least ? 1 : 0;  // seconds at the power cap, which only grow
    } else if (name == "energy_j") {
      counter = (most - least) / seconds * to.mean_seconds();
      if (seconds < long_enough || most <= least) to.counters.erase(name);
    }
  }
  if (const auto at_cap = to.counters.extract("at_power_cap")) {
    double& capped = to.counters["power_capped"];
    if (at_cap.mapped() > 0) capped = 1;
  }
  if (to.power_capped()) moved.erase("sm_mhz");  // memory has its own clock
  if (!moved.empty()) to.counters["disturbed"] = 1;
}

LAYERBENCH_INLINE telemetry_watch::telemetry_watch(compute_device& device,
                                                   std::function<double()> now)
    : device_(device), now_(std::move(now)) {
  read();
}

LAYERBENCH_INLINE void telemetry_watch::look() {
  constexpr double interval = 0.02;    // seconds
  constexpr double least_pauses = 20;  // as long as a reading
  const telemetry_reading& latest = readings_.back();
  if (latest.values.empty()) return;
  if (now_() - latest.time >= std::max(interval, least_pauses * seconds_)) read();
}

LAYERBENCH_INLINE void telemetry_watch::add_to(result::measurement& row) {
  read();
  add_telemetry(readings_, row);
}

LAYERBENCH_INLINE void telemetry_watch::read() {
  const double start = now_();
  std::map<std::string, double> values = device_.telemetry();
  readings_.push_back({std::move(values), now_()});
  seconds_ = readings_.back().time - start;
}

LAYERBENCH_INLINE void warm_up(compute_device& device, const std::function<void()>& work,
                               const std::function<double()>& now) {
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

}  // namespace layerbench::run
