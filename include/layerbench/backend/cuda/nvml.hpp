// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <dlfcn.h>

#include <fmt/format.h>

#include <layerbench/base/description.hpp>
#include <layerbench/base/error.hpp>

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
    unsigned pending = 0;
    const auto mig_mode = function<int(void*, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
    unsigned mode = 0;
    if (gpu_ != nullptr && mig_mode != nullptr && mig_mode(gpu_, &mode, &pending) == success)
      mig_mode_ = mode;
  }

  /// Holds the SM clock at `mhz`, or, for 0, at the clock that the GPU keeps at its rated power,
  /// until reset_clocks(). Returns why that is not possible; nothing if it is.
  [[nodiscard]] std::optional<std::string> lock_clocks(unsigned mhz) const {
    constexpr unsigned at_rated_power = 0xffffff01;  // NVML_CLOCK_LIMIT_ID_TDP
    const auto lock = function<int(void*, unsigned, unsigned)>("nvmlDeviceSetGpuLockedClocks");
    if (gpu_ == nullptr || lock == nullptr) return "NVML is missing, or too old";
    if (is_divided()) return "other slices of the GPU (MIG) would change, too";
    const unsigned bound = mhz == 0 ? at_rated_power : mhz;
    const int status = lock(gpu_, bound, bound);
    if (status == success) return std::nullopt;
    const auto text = function<const char*(int)>("nvmlErrorString");
    return fmt::format("nvmlDeviceSetGpuLockedClocks: {}",
                       text == nullptr ? std::to_string(status) : text(status));
  }
  void reset_clocks() const {
    const auto reset = function<int(void*)>("nvmlDeviceResetGpuLockedClocks");
    if (reset != nullptr) reset(gpu_);
  }

  /// Whether the GPU is divided into slices (MIG), of which a program sees one. NVML's values are
  /// of the whole GPU: power, energy and UUID are left out; clocks, temperature and throttle
  /// reasons stay.
  [[nodiscard]] bool is_divided() const { return mig_mode_ == 1U; }

  /// The current counters (docs/formats.md), without those that the GPU does not report. `energy_j`
  /// counts from when the driver was loaded. `at_power_cap` says whether the cap holds clocks back
  /// now, `power_capped` for how many seconds it did.
  [[nodiscard]] std::map<std::string, double> read() const {
    std::map<std::string, double> counters;
    if (gpu_ == nullptr) return counters;
    constexpr int sm_clock = 1;
    constexpr int memory_clock = 2;
    constexpr int gpu_sensor = 0;
    constexpr unsigned long long power_cap = 0x4;            // nvmlClocksEventReasonSwPowerCap
    constexpr unsigned long long not_throttled = 0x1 | 0x2;  // GPU idle, application clocks setting
    const auto add = [&](const char* counter, std::optional<unsigned> value, double unit = 1) {
      if (value) counters[counter] = unit * *value;
    };
    add("sm_mhz", query<unsigned>("nvmlDeviceGetClockInfo", sm_clock));
    add("mem_mhz", query<unsigned>("nvmlDeviceGetClockInfo", memory_clock));
    add("temperature_c", query<unsigned>("nvmlDeviceGetTemperature", gpu_sensor));
    if (!is_divided()) {
      add("power_w", query<unsigned>("nvmlDeviceGetPowerUsage"), 1e-3);
      const auto used = query<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
      if (used) counters["energy_j"] = 1e-3 * static_cast<double>(*used);
    }
    auto reasons = query<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!reasons) {  // renamed in newer drivers
      reasons = query<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
    }
    if (reasons) {
      counters["throttled"] = (*reasons & ~not_throttled) == 0 ? 0 : 1;
      counters["throttle_reasons"] = static_cast<double>(*reasons);
      counters["at_power_cap"] = (*reasons & power_cap) == 0 ? 0 : 1;
    }
    constexpr int power_policy = 0;  // NVML_PERF_POLICY_POWER
    const auto at_cap = query<violation>("nvmlDeviceGetViolationStatus", power_policy);
    if (at_cap) counters["power_capped"] = 1e-9 * static_cast<double>(at_cap->nanoseconds);
    return counters;
  }

  /// Adds what changes timings or identifies the GPU, as far as it is known, to the facts of a
  /// result file (docs/formats.md).
  void describe(description& facts) const {
    if (gpu_ == nullptr) return;
    using enum field_dimension;
    const auto add = [&](const char* field, field_dimension dimension,
                         std::optional<unsigned> value, double unit = 1) {
      if (value) facts[field] = {fmt::format("{:g}", unit * *value), dimension};
    };
    const auto add_text = [&](const char* field, field_dimension dimension, auto call, auto... of) {
      std::array<char, 96> text{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest
      constexpr unsigned size = text.size();
      if (call != nullptr && call(of..., text.data(), size) == success) {
        facts[field] = {text.data(), dimension};
      }
    };
    constexpr int sm_clock = 1;
    constexpr int memory_clock = 2;
    add("gpu_power_limit_w", device_setting, query<unsigned>("nvmlDeviceGetEnforcedPowerLimit"),
        1e-3);
    add("gpu_max_sm_mhz", driver, query<unsigned>("nvmlDeviceGetMaxClockInfo", sm_clock));
    add("gpu_max_mem_mhz", driver, query<unsigned>("nvmlDeviceGetMaxClockInfo", memory_clock));
    add("gpu_persistence_mode", device_setting, query<unsigned>("nvmlDeviceGetPersistenceMode"));
    add("gpu_mig_mode", device_setting, mig_mode_);
    if (!is_divided()) {
      add_text("gpu_uuid", condition, function<int(void*, char*, unsigned)>("nvmlDeviceGetUUID"),
               gpu_);
    }
    add_text("nvidia_driver_version", driver,
             function<int(char*, unsigned)>("nvmlSystemGetDriverVersion"));
  }

 private:
  static constexpr int success = 0;
  /// nvmlViolationTime_t.
  struct violation {
    unsigned long long until;  ///< when it was read, in microseconds
    unsigned long long
        nanoseconds;  ///< for which clocks were held back since the driver was loaded
  };
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
    Number value{};
    const auto call = function<int(void*, Which..., Number*)>(name);
    if (call == nullptr || call(gpu_, which..., &value) != success) return std::nullopt;
    return value;
  }

  std::unique_ptr<void, closer> library_;
  std::unique_ptr<void, shutdown> session_;  ///< the library, once it is initialized
  void* gpu_ = nullptr;
  std::optional<unsigned> mig_mode_;
};

/// Holds the SM clock of a GPU while it lives. A program that is killed leaves the clock as it is.
class clock_lock {
 public:
  /// See nvml and nvml::lock_clocks(). Throws unavailable where the clock cannot be held.
  explicit clock_lock(unsigned mhz, const std::string& bus_id,
                      const char* library = "libnvidia-ml.so.1")
      : gpu_(bus_id, library) {
    if (const auto reason = gpu_.lock_clocks(mhz)) throw unavailable(*reason);
  }
  clock_lock(const clock_lock&) = delete;
  clock_lock& operator=(const clock_lock&) = delete;
  ~clock_lock() { gpu_.reset_clocks(); }

 private:
  nvml gpu_;
};

}  // namespace layerbench::cuda
