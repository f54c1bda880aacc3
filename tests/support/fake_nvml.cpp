// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/// Stands in for NVML: one GPU, at one place, that is held back by its power limit. Its SM clock
/// can be locked if FAKE_NVML_MAY_LOCK is set. Its energy stands still, or grows by
/// FAKE_NVML_WATTS. It lacks nvmlDeviceGetTemperature and nvmlDeviceGetPersistenceMode, and knows
/// what holds it back by the newer name alone.

namespace {

int users = 0;
int gpu = 0;
unsigned mig_mode = 0;
unsigned sm_mhz = 1755;

/// Adds the clock to the file that a test names: it outlives the program.
void log_lock() {
  const char* path = std::getenv("FAKE_NVML_LOG");
  if (path == nullptr) return;
  std::FILE* log = std::fopen(path, "a");
  std::fprintf(log, "%u\n", sm_mhz);
  std::fclose(log);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  ++users;
  return 0;
}
int nvmlShutdown() {
  --users;
  return 0;
}
int users_of_the_test() { return users; }
void divide_for_the_test(unsigned mode) { mig_mode = mode; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** found) {
  if (std::strcmp(place, "0000:3B:00.0") != 0) return 6;
  *found = &gpu;
  return 0;
}
int nvmlDeviceGetClockInfo(void* of, int which, unsigned* value) {
  if (of != &gpu) return 2;
  *value = which == 1 ? sm_mhz : 3201;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* /*of*/, unsigned* value) {
  *value = 512'300;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* /*of*/, unsigned long long* value) {
  *value = 1'234'500;
  const char* watts = std::getenv("FAKE_NVML_WATTS");
  if (watts == nullptr) return 0;
  const std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now().time_since_epoch();
  *value += static_cast<unsigned long long>(std::atof(watts) * time.count());  // mJ
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* /*of*/, unsigned long long* reasons) {
  *reasons = 0x4;
  return 0;
}

int nvmlDeviceGetViolationStatus(void* /*of*/, int policy, unsigned long long* times) {
  if (policy != 0) return 3;
  times[0] = 1'000'000;
  times[1] = 2'500'000'000;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* /*of*/, unsigned* value) {
  *value = 700'000;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* /*of*/, int which, unsigned* value) {
  *value = which == 1 ? 1980 : 2619;
  return 0;
}
int nvmlDeviceGetMigMode(void* /*of*/, unsigned* now, unsigned* later) {
  *now = mig_mode;
  *later = 1;
  return 0;
}
int nvmlDeviceGetUUID(void* /*of*/, char* text, unsigned size) {
  std::strncpy(text, "GPU-0123", size);
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(void* /*of*/, unsigned least, unsigned most) {
  if (std::getenv("FAKE_NVML_MAY_LOCK") == nullptr) return 4;  // NVML_ERROR_NO_PERMISSION
  constexpr unsigned at_rated_power = 0xffffff01;
  if (least != most) return 2;
  sm_mhz = most == at_rated_power ? 1290 : most;
  log_lock();
  return 0;
}
int nvmlDeviceResetGpuLockedClocks(void* /*of*/) {
  sm_mhz = 1755;
  log_lock();
  return 0;
}
const char* nvmlErrorString(int status) {
  return status == 4 ? "Insufficient Permissions" : "another error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "580.1", size);
  return 0;
}

}  // extern "C"
