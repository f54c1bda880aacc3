// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <dlfcn.h>

namespace layerbench::cuda {

/// What NVIDIA's management library (NVML) tells of a GPU. It comes with the driver: it is loaded
/// where it is there, and any of its functions may be missing. Declarations and numbers are those
/// of the NVML API reference.
class nvml {
 public:
  /// Of the GPU at that place on the bus, such as "0000:3B:00.0".
  explicit nvml(const std::string& bus_id, const char* library = "libnvidia-ml.so.1")
      : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    const auto begin = function<int()>("nvmlInit_v2");
    const auto find = function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (begin == nullptr || find == nullptr || begin() != success) return;
    begun_.reset(library_.get());
    if (find(bus_id.c_str(), &gpu_) != success) gpu_ = nullptr;
  }

  /// The counters of docs/formats.md, of this moment; without those that are not known. `energy_j`
  /// is that of all the time since the driver was loaded.
  [[nodiscard]] std::map<std::string, double> read() const {
    std::map<std::string, double> found;
    if (gpu_ == nullptr) return found;
    constexpr int sm_clock = 1;
    constexpr int memory_clock = 2;
    constexpr int gpu_sensor = 0;
    constexpr unsigned long long harmless = 0x1 | 0x2;  // idle, and clocks that the user set
    const auto add = [&](const char* counter, std::optional<unsigned> value, double unit = 1) {
      if (value) found[counter] = unit * *value;
    };
    add("sm_mhz", number<unsigned>("nvmlDeviceGetClockInfo", sm_clock));
    add("mem_mhz", number<unsigned>("nvmlDeviceGetClockInfo", memory_clock));
    add("power_w", number<unsigned>("nvmlDeviceGetPowerUsage"), 1e-3);
    add("temperature_c", number<unsigned>("nvmlDeviceGetTemperature", gpu_sensor));
    const auto used = number<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
    if (used) found["energy_j"] = 1e-3 * static_cast<double>(*used);
    auto reasons = number<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!reasons) {  // as newer drivers call it
      reasons = number<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
    }
    if (reasons) {
      found["throttled"] = (*reasons & ~harmless) == 0 ? 0 : 1;
      found["throttle_reasons"] = static_cast<double>(*reasons);
    }
    return found;
  }

 private:
  static constexpr int success = 0;
  struct closer {
    void operator()(void* library) const noexcept { ::dlclose(library); }
  };
  struct ender {
    void operator()(void* library) const noexcept {
      auto* const end = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlShutdown"));
      if (end != nullptr) end();
    }
  };

  /// Null where the library does not have it, or is not there.
  template <class Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    if (!library_) return nullptr;
    return reinterpret_cast<Signature*>(::dlsym(library_.get(), name));
  }

  /// What a function says of the GPU, of that one of several things; nothing where it does not.
  template <class Number, class... Which>
  [[nodiscard]] std::optional<Number> number(const char* name, Which... which) const {
    Number value = 0;
    const auto ask = function<int(void*, Which..., Number*)>(name);
    if (ask == nullptr || ask(gpu_, which..., &value) != success) return std::nullopt;
    return value;
  }

  std::unique_ptr<void, closer> library_;
  std::unique_ptr<void, ender> begun_;  ///< the library, where it is to be ended
  void* gpu_ = nullptr;
};

}  // namespace layerbench::cuda
