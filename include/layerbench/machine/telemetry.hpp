// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/timing/clock.hpp>

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
void add_telemetry(const std::vector<telemetry_reading>& readings, result::measurement& to);

/// Reads a device's telemetry before, during and after a pass.
class telemetry_watch {
 public:
  explicit telemetry_watch(compute_device& device, std::function<double()> now = stopwatch::now);

  /// Reads between two samples, at most every 20 ms and for at most a twentieth of the time.
  void look();
  /// Takes the last reading and adds all to the row of the pass.
  void add_to(result::measurement& row);

 private:
  void read();

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
void warm_up(compute_device& device, const std::function<void()>& work,
             const std::function<double()>& now = stopwatch::now);

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

#ifndef LAYERBENCH_COMPILED
#include <layerbench/machine/telemetry-inl.hpp>
#endif
