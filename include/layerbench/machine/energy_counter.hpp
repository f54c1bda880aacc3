// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/timing/clock.hpp>

/// Counters of energy: of a GPU, and a meter that the user has. machine/processor_energy.hpp has
/// those of processors.
namespace layerbench::run {

/// What a counter is, and how far its figures can be trusted (docs/formats.md).
struct energy_source {
  std::string counter;   ///< its name: "powercap", "perf_event", "NVML", or the user's command
  std::string evidence;  ///< its class: "processor's counter", "GPU's counter" or "meter"
  std::string coverage;  ///< what it counts: "package, DRAM"

  [[nodiscard]] std::string text() const { return evidence + " (" + coverage + ")"; }
};

/// A counter that cannot be read, or that makes no sense.
struct energy_error : unavailable {
  using unavailable::unavailable;
};

/// Counts the energy of work.
class energy_counter {
 public:
  energy_counter(const energy_counter&) = delete;
  energy_counter& operator=(const energy_counter&) = delete;
  virtual ~energy_counter() = default;

  [[nodiscard]] const energy_source& source() const { return source_; }
  /// Seconds that a reading takes.
  [[nodiscard]] double reading_seconds() const { return reading_seconds_; }

  /// Whether it reads joules since some time; else it reads watts.
  [[nodiscard]] virtual bool reads_joules() const { return true; }
  /// Share of the seconds of start() and stop() whose energy is counted as well. Joules are read at
  /// some time in them, on average in the middle.
  [[nodiscard]] double counted_share() const { return reads_joules() ? 0.5 : 0; }

  /// What it shows now, in joules or watts; not between start() and stop(). Throws energy_error.
  [[nodiscard]] virtual double reading() = 0;
  /// Begins to count. Throws energy_error.
  virtual void start() = 0;
  /// Joules since start(). Throws energy_error.
  [[nodiscard]] virtual double stop() = 0;

 protected:
  explicit energy_counter(energy_source of) : source_(std::move(of)) {}
  void set_reading_seconds(double seconds) { reading_seconds_ = seconds; }

 private:
  energy_source source_;
  double reading_seconds_ = 0;
};

/// A part of a machine whose energy is counted from some time on.
struct energy_domain {
  std::function<double()> joules;  ///< throws energy_error
  /// The joules after which it begins again at 0. Infinite: it only grows.
  double range = std::numeric_limits<double>::infinity();
};

/// Counts the energy of some domains together. One that wraps may do so once in the counted time.
class domain_counter final : public energy_counter {
 public:
  /// Reads all once. Throws energy_error.
  domain_counter(energy_source of, std::vector<energy_domain> domains);
  [[nodiscard]] double reading() override;
  void start() override { begin_ = read(); }
  [[nodiscard]] double stop() override;

 private:
  [[nodiscard]] std::vector<double> read() const;

  std::vector<energy_domain> domains_;
  std::vector<double> begin_;
};

/// Counts energy by a meter that says watts: the mean of its readings while the work runs, times
/// the time. A thread of its own reads it, four times per second, or as a fifth of the time if a
/// reading takes long.
class watts_counter final : public energy_counter {
 public:
  /// Reads the meter once. `watts` throws error. Throws energy_error.
  watts_counter(energy_source of, std::function<double()> watts);
  watts_counter(const watts_counter&) = delete;
  watts_counter& operator=(const watts_counter&) = delete;
  ~watts_counter() override { end(); }
  [[nodiscard]] bool reads_joules() const override { return false; }
  [[nodiscard]] double reading() override { return watts_(); }
  void start() override;
  [[nodiscard]] double stop() override;

 private:
  void read_repeatedly();
  void end();

  std::function<double()> watts_;
  std::thread reader_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable ends_;
  bool ending_ = false;
  double sum_ = 0;
  int readings_ = 0;
  std::string failure_;
  double started_ = 0;
};

/// The number that a text is, but for blanks at its ends. Throws energy_error that quotes
/// `command`, which printed it.
[[nodiscard]] double meter_reading(const std::string& text, const std::string& command);

/// The meter that a shell's command reads: it prints the joules since some time (`unit` J), or the
/// watts of this moment (W). It may take `timeout` seconds. Throws energy_error.
[[nodiscard]] std::unique_ptr<energy_counter> meter_by_command(const std::string& command,
                                                               const std::string& unit,
                                                               double timeout = 10);

/// The counter of a GPU (NVML), of the whole GPU. Throws unavailable where it has none, as slices
/// of a GPU (MIG) have none. `gpu` must outlive it.
[[nodiscard]] std::unique_ptr<energy_counter> gpu_energy(compute_device& gpu);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/machine/energy_counter-inl.hpp>
#endif
