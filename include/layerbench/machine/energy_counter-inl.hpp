// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <layerbench/base/child_process.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/machine/energy_counter.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE domain_counter::domain_counter(energy_source of,
                                                 std::vector<energy_domain> domains)
    : energy_counter(std::move(of)), domains_(std::move(domains)) {
  const double begin = stopwatch::now();
  begin_ = read();
  set_reading_seconds(stopwatch::now() - begin);
}

LAYERBENCH_INLINE double domain_counter::reading() {
  const std::vector<double> all = read();
  return std::accumulate(all.begin(), all.end(), 0.0);
}

LAYERBENCH_INLINE double domain_counter::stop() {
  const std::vector<double> end = read();
  double sum = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    double joules = end[i] - begin_[i];
    if (joules < 0) joules += domains_[i].range;
    if (std::isinf(joules)) {
      throw energy_error(
          fmt::format("{}: went backwards, from {} to {} J", source().counter, begin_[i], end[i]));
    }
    sum += joules;
  }
  return sum;
}

LAYERBENCH_INLINE std::vector<double> domain_counter::read() const {
  std::vector<double> all;
  for (const energy_domain& domain : domains_) all.push_back(domain.joules());
  return all;
}

LAYERBENCH_INLINE watts_counter::watts_counter(energy_source of, std::function<double()> watts)
    : energy_counter(std::move(of)), watts_(std::move(watts)) {
  const double begin = stopwatch::now();
  static_cast<void>(watts_());
  set_reading_seconds(stopwatch::now() - begin);
}

LAYERBENCH_INLINE void watts_counter::start() {
  end();
  ending_ = false;
  sum_ = readings_ = 0;
  failure_.clear();
  started_ = stopwatch::now();
  reader_ = std::thread([this] { read_repeatedly(); });
}

LAYERBENCH_INLINE double watts_counter::stop() {
  const double seconds = stopwatch::now() - started_;
  end();
  if (!failure_.empty()) throw energy_error(failure_);
  return sum_ / readings_ * seconds;
}

LAYERBENCH_INLINE void watts_counter::read_repeatedly() {
  constexpr double interval = 0.25;  // seconds
  constexpr double pauses = 4;       // as long as a reading
  const std::chrono::duration<double> pause(std::max(interval, pauses * reading_seconds()));
  try {
    while (true) {
      const double watts = watts_();
      std::unique_lock lock(mutex_);
      if (ending_ && readings_ > 0) return;  // the work ended meanwhile
      sum_ += watts;
      ++readings_;
      if (ends_.wait_for(lock, pause, [&] { return ending_; })) return;
    }
  } catch (const error& e) {
    const std::lock_guard lock(mutex_);
    failure_ = e.what();
  }
}

LAYERBENCH_INLINE void watts_counter::end() {
  if (!reader_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_all();
  reader_.join();
}

LAYERBENCH_INLINE double meter_reading(const std::string& text, const std::string& command) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  const std::string number = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
  const auto value = parse_number<double>(number);
  if (value && std::isfinite(*value) && *value >= 0) return *value;
  throw energy_error(fmt::format("{}: printed '{}' instead of one number", command,
                                 number.substr(0, number.find('\n'))));
}

LAYERBENCH_INLINE std::unique_ptr<energy_counter> meter_by_command(const std::string& command,
                                                                   const std::string& unit,
                                                                   double timeout) {
  const auto read = [command, timeout] {
    try {
      return meter_reading(output_of(command, timeout), command);
    } catch (const energy_error&) {
      throw;
    } catch (const error& e) {
      throw energy_error(e.what());
    }
  };
  energy_source source{command, "meter", "what the meter measures"};
  if (unit == "W") return std::make_unique<watts_counter>(std::move(source), read);
  return std::make_unique<domain_counter>(std::move(source), std::vector<energy_domain>{{read}});
}

LAYERBENCH_INLINE std::unique_ptr<energy_counter> gpu_energy(compute_device& gpu) {
  const auto joules = [&gpu] {
    const std::map<std::string, double> all = gpu.telemetry();
    const auto found = all.find("energy_j");
    if (found != all.end()) return found->second;
    throw energy_error(
        "--energy: NVML tells no energy of this GPU (nvmlDeviceGetTotalEnergyConsumption; a slice "
        "of a GPU has none); name a meter with --meter");
  };
  return std::make_unique<domain_counter>(energy_source{"NVML", "GPU's counter", "whole GPU"},
                                          std::vector<energy_domain>{{joules}});
}

}  // namespace layerbench::run
