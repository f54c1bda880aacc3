// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <dlfcn.h>

namespace layerbench::cuda {

/// Telemetry of a GPU through NVIDIA's management library (NVML). The library comes with the
/// driver, so it is loaded at run time; the library or any of its functions may be missing.
/// Declarations and constants are from the NVML API reference.
class nvml {
 public:
  /// `bus_id`: PCI bus id of the GPU, such as "0000:3B:00.0".
  explicit nvml(const std::string& bus_id, const char* library = "libnvidia-ml.so.1")
      : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    const auto init = function<int()>("nvmlInit_v2");
    const auto find = function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || find == nullptr || init() != success) return;
    session_.reset(library_.get());
    if (find(bus_id.c_str(), &gpu_) != success) gpu_ = nullptr;
  }

  /// The current counters (docs/formats.md), without those that the GPU does not report. `energy_j`
  /// counts from when the driver was loaded.
  [[nodiscard]] std::map<std::string, double> read() const {
    std::map<std::string, double> counters;
    if (gpu_ == nullptr) return counters;
    constexpr int sm_clock = 1;
    constexpr int memory_clock = 2;
    constexpr int gpu_sensor = 0;
    constexpr unsigned long long not_throttled = 0x1 | 0x2;  // GPU idle, application clocks setting
    const auto add = [&](const char* counter, std::optional<unsigned> value, double unit = 1) {
      if (value) counters[counter] = unit * *value;
    };
    add("sm_mhz", query<unsigned>("nvmlDeviceGetClockInfo", sm_clock));
    add("mem_mhz", query<unsigned>("nvmlDeviceGetClockInfo", memory_clock));
    add("power_w", query<unsigned>("nvmlDeviceGetPowerUsage"), 1e-3);
    add("temperature_c", query<unsigned>("nvmlDeviceGetTemperature", gpu_sensor));
    const auto used = query<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
    if (used) counters["energy_j"] = 1e-3 * static_cast<double>(*used);
    auto reasons = query<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!reasons) {  // renamed in newer drivers
      reasons = query<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
    }
    if (reasons) {
      counters["throttled"] = (*reasons & ~not_throttled) == 0 ? 0 : 1;
      counters["throttle_reasons"] = static_cast<double>(*reasons);
    }
    return counters;
  }

 private:
  static constexpr int success = 0;
  struct closer {
    void operator()(void* library) const noexcept { ::dlclose(library); }
  };
  struct shutdown {
    void operator()(void* library) const noexcept {
      auto* const nvml_shutdown = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlShutdown"));
      if (nvml_shutdown != nullptr) nvml_shutdown();
    }
  };

  /// A function of the library; null if the function or the library is missing.
  template <class Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    if (!library_) return nullptr;
    return reinterpret_cast<Signature*>(::dlsym(library_.get(), name));
  }

  /// The value that query function `name` returns for the GPU; nullopt if the query fails. `which`
  /// selects one of several clocks or sensors.
  template <class Number, class... Which>
  [[nodiscard]] std::optional<Number> query(const char* name, Which... which) const {
    Number value = 0;
    const auto call = function<int(void*, Which..., Number*)>(name);
    if (call == nullptr || call(gpu_, which..., &value) != success) return std::nullopt;
    return value;
  }

  std::unique_ptr<void, closer> library_;
  std::unique_ptr<void, shutdown> session_;  ///< the library, once it is initialized
  void* gpu_ = nullptr;
};

}  // namespace layerbench::cuda
