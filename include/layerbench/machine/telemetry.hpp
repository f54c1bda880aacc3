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
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/interrupt.hpp>

/// Device telemetry (clock rates, power, throttling), in the counters of docs/formats.md.
namespace layerbench::run {

/// A device's telemetry at one moment.
struct telemetry_reading {
  std::map<std::string, double> values;
  double time;  ///< seconds of the wall clock
};

/// Adds telemetry to the row of a pass: means over the readings, all throttle reasons, and the
/// share of readings at which the device was throttled. A clock rate that changed marks the row as
/// disturbed, unless the power cap held the clock back: that is the state in which such work runs,
/// whatever else runs beside it. The row's energy is that of one call at the mean power of the
/// whole pass, waiting included, given if the pass was long enough for the energy counter, which
/// changes every few hundredths of a second.
inline void add_telemetry(const std::vector<telemetry_reading>& readings, result::measurement& to) {
  constexpr double changed = 0.05;
  constexpr double long_enough = 0.1;       // seconds
  constexpr std::uint64_t power_cap = 0x4;  // NVML's nvmlClocksEventReasonSwPowerCap
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
  const auto reasons = to.counters.find("throttle_reasons");
  if (reasons != to.counters.end()) {
    double& capped = to.counters["power_capped"];
    if ((static_cast<std::uint64_t>(reasons->second) & power_cap) != 0) capped = 1;
  }
  if (to.power_capped()) moved.erase("sm_mhz");  // memory has its own clock
  if (!moved.empty()) to.counters["disturbed"] = 1;
}

/// Reads a device's telemetry before, during and after a pass.
class telemetry_watch {
 public:
  explicit telemetry_watch(compute_device& device, std::function<double()> now = stopwatch::now)
      : device_(device), now_(std::move(now)) {
    read();
  }

  /// Reads between two samples, at most every 20 ms and for at most a twentieth of the time.
  void look() {
    constexpr double interval = 0.02;    // seconds
    constexpr double least_pauses = 20;  // as long as a reading
    const telemetry_reading& latest = readings_.back();
    if (latest.values.empty()) return;
    if (now_() - latest.time >= std::max(interval, least_pauses * seconds_)) read();
  }
  /// Takes the last reading and adds all to the row of the pass.
  void add_to(result::measurement& row) {
    read();
    add_telemetry(readings_, row);
  }

 private:
  void read() {
    const double start = now_();
    std::map<std::string, double> values = device_.telemetry();
    readings_.push_back({std::move(values), now_()});
    seconds_ = readings_.back().time - start;
  }

  compute_device& device_;
  std::function<double()> now_;
  std::vector<telemetry_reading> readings_;
  double seconds_ = 0;  ///< that the latest reading took
};

/// A probe of the processors' speed that has the device's telemetry read, too.
template <class Speed>
class watching_probe {
 public:
  static constexpr double interval = Speed::interval;

  watching_probe(Speed& speed, telemetry_watch& device) : speed_(speed), device_(device) {}

  [[nodiscard]] bool at_usual_speed() {
    device_.look();
    return speed_.at_usual_speed();
  }
  bool wait() { return speed_.wait(); }

 private:
  Speed& speed_;
  telemetry_watch& device_;
};

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
