// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/cuda/device_backend.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/timing/clock.hpp>

#include "support/host_cuda.hpp"
#include "support/host_kernels.hpp"

/// What all backends on NVIDIA GPUs share, on a stand-in for the CUDA run time.
namespace layerbench {
namespace {

struct gpu : cuda::device_backend {
  static constexpr std::string_view name = "gpu";
  using device_backend::device_backend;
};

TEST(Gpu, IsTimedByItsOwnClock) {
  run::backend_device<gpu, op::gemm> device(1);
  ASSERT_NE(device.clock(), nullptr);
  run::stopwatch watch(run::clock::thread_cpu, device.clock());
  EXPECT_TRUE(watch.uses_device_clock());
  events_count_work = true;
  watch.start();
  host_seconds += 1000;
  const run::lap passed = watch.stop();
  events_count_work = false;
  EXPECT_NEAR(passed.seconds, 1000, 0.001);
  EXPECT_NE(passed.wall, passed.seconds);
}

/// Milliseconds that start() holds the stream: the stand-in does that at once. Enqueuing then takes
/// that long.
double held(cuda::stream_clock& clock, std::chrono::milliseconds enqueuing) {
  const auto begin = std::chrono::steady_clock::now();
  clock.start();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  std::this_thread::sleep_for(enqueuing);
  static_cast<void>(clock.stop());
  return taken.count();
}

/// Whether one of many is brief: in each of them this thread may have to wait for a processor.
template <class Hold>
bool becomes_brief(const Hold& hold) {
  for (int i = 0; i < 100; ++i) {
    if (hold() < 20) return true;
  }
  return false;
}
bool is_brief_at_first(cudaStream_t stream) {
  return becomes_brief([&] {
    cuda::stream_clock clock(stream);
    return held(clock, std::chrono::milliseconds(0));
  });
}

TEST(GpuClock, HoldsTheStreamForTwiceTheLastTimeToEnqueue) {
  using std::chrono::milliseconds;
  const cuda::stream stream = cuda::make_stream();
  EXPECT_TRUE(is_brief_at_first(stream.get())) << "1 ms";
  cuda::stream_clock clock(stream.get());
  static_cast<void>(held(clock, milliseconds(20)));
  EXPECT_GE(held(clock, milliseconds(0)), 40);
  EXPECT_TRUE(becomes_brief([&] { return held(clock, milliseconds(0)); }));
}

TEST(GpuClock, HoldsTheStreamBrieflyWhereWorkWaitsForIt) {
  using std::chrono::milliseconds;
  const cuda::stream stream = cuda::make_stream();
  EXPECT_TRUE(is_brief_at_first(stream.get()));
  cuda::stream_clock clock(stream.get());
  static_cast<void>(held(clock, milliseconds(20)));
  // Work that waits for the stream takes longer than any hold.
  for (int i = 0; i < 4; ++i) EXPECT_GE(held(clock, milliseconds(60)), 40) << i;
  EXPECT_TRUE(becomes_brief([&] { return held(clock, milliseconds(60)); }));
}

TEST(Gpu, TellsWhatItsManagementLibraryKnows) {
  const auto users = [] {
    void* library = ::dlopen(LAYERBENCH_FAKE_NVML, RTLD_NOW);
    return reinterpret_cast<int (*)()>(::dlsym(library, "users_of_the_test"))();
  };
  const int before = users();
  {
    const cuda::nvml known("0000:3B:00.0", LAYERBENCH_FAKE_NVML);
    EXPECT_EQ(users(), before + 1);
    using ::testing::Pair;
    EXPECT_THAT(known.read(),
                ::testing::UnorderedElementsAre(Pair("sm_mhz", 1755), Pair("mem_mhz", 3201),
                                                Pair("power_w", ::testing::DoubleEq(512.3)),
                                                Pair("energy_j", ::testing::DoubleEq(1234.5)),
                                                Pair("throttled", 1), Pair("throttle_reasons", 4),
                                                Pair("at_power_cap", 1),
                                                Pair("power_capped", ::testing::DoubleEq(2.5))))
        << "all but the temperature, which this one does not have";
    using enum field_dimension;
    description facts;
    known.describe(facts);
    EXPECT_THAT(facts, ::testing::UnorderedElementsAre(
                           Pair("gpu_power_limit_w", fact{"700", device_setting}),
                           Pair("gpu_max_sm_mhz", fact{"1980", driver}),
                           Pair("gpu_max_mem_mhz", fact{"2619", driver}),
                           Pair("gpu_mig_mode", fact{"0", device_setting}),
                           Pair("gpu_uuid", fact{"GPU-0123", condition}),
                           Pair("nvidia_driver_version", fact{"580.1", driver})))
        << "all but the persistence mode";
  }
  EXPECT_EQ(users(), before);
  EXPECT_THAT(cuda::nvml("0000:00:00.0", LAYERBENCH_FAKE_NVML).read(), ::testing::IsEmpty());
  EXPECT_THAT(cuda::nvml("0000:3B:00.0", "/nowhere.so").read(), ::testing::IsEmpty());
  description none;
  cuda::nvml("0000:3B:00.0", "/nowhere.so").describe(none);
  EXPECT_THAT(none, ::testing::IsEmpty());
}

/// Against what NVIDIA's data sheets give for dense products, in TFLOP/s at the boost clock.
TEST(Gpu, HasThePeaksOfItsDataSheet) {
  struct sheet {
    const char* gpu;
    int capability, multiprocessors;
    double ghz;
    dtype type;
    double teraflops;
  };
  for (const sheet& of : {sheet{"V100 SXM2", 70, 80, 1.53, dtype::f16, 125},
                          sheet{"T4", 75, 40, 1.59, dtype::s8, 130},
                          sheet{"A100 SXM", 80, 108, 1.41, dtype::f32, 19.5},
                          sheet{"A100 SXM", 80, 108, 1.41, dtype::tf32, 156},
                          sheet{"A100 SXM", 80, 108, 1.41, dtype::bf16, 312},
                          sheet{"A100 SXM", 80, 108, 1.41, dtype::s8, 624},
                          sheet{"A40", 86, 84, 1.74, dtype::tf32, 74.8},
                          sheet{"A40", 86, 84, 1.74, dtype::f16, 149.7},
                          sheet{"L40S", 89, 142, 2.52, dtype::f32, 91.6},
                          sheet{"L40S", 89, 142, 2.52, dtype::f8_e4m3, 733},
                          sheet{"H100 SXM", 90, 132, 1.98, dtype::f32, 67},
                          sheet{"H100 SXM", 90, 132, 1.83, dtype::tf32, 494.7},
                          sheet{"H100 SXM", 90, 132, 1.83, dtype::bf16, 989.4},
                          sheet{"H100 SXM", 90, 132, 1.83, dtype::f8_e4m3, 1979},
                          sheet{"B200", 100, 148, 1.85, dtype::bf16, 2250},
                          sheet{"B200", 100, 148, 1.85, dtype::f8_e4m3, 4500},
                          sheet{"RTX PRO 6000", 120, 188, 2.6, dtype::f32, 125}}) {
    const double peak =
        1e-3 * of.multiprocessors * of.ghz * cuda::flops_per_clock(of.capability, of.type);
    EXPECT_NEAR(peak, of.teraflops, 0.02 * of.teraflops) << of.gpu << ' ' << name(of.type);
  }
  // An RTX 4090: 128 multiprocessors at 2.52 GHz, 165.2 TFLOP/s in 16 bits with sums in f32.
  EXPECT_NEAR(1e-3 * 128 * 2.52 * cuda::flops_per_clock(89, dtype::bf16, true), 165.2, 2);
  EXPECT_NEAR(1e-3 * 128 * 2.52 * cuda::flops_per_clock(89, dtype::f32, true), 82.6, 1);
  EXPECT_EQ(cuda::flops_per_clock(80, dtype::f8_e4m3), 0) << "it has none";
  EXPECT_EQ(cuda::flops_per_clock(70, dtype::bf16), 0);
  EXPECT_EQ(cuda::flops_per_clock(61, dtype::f32), 0) << "not known";
}

/// NVML's power, energy and UUID are those of the whole GPU.
TEST(Gpu, ThatIsASliceSaysNothingOfTheOthers) {
  void* library = ::dlopen(LAYERBENCH_FAKE_NVML, RTLD_NOW);
  auto* const divide =
      reinterpret_cast<void (*)(unsigned)>(::dlsym(library, "divide_for_the_test"));
  divide(1);
  const cuda::nvml divided("0000:3B:00.0", LAYERBENCH_FAKE_NVML);
  EXPECT_TRUE(divided.is_divided());
  description facts;
  divided.describe(facts);
  EXPECT_EQ(facts["gpu_mig_mode"].value, "1");
  EXPECT_FALSE(facts.contains("gpu_uuid"));
  const auto counters = divided.read();
  EXPECT_FALSE(counters.contains("power_w") || counters.contains("energy_j"));
  EXPECT_TRUE(counters.contains("sm_mhz"));
  divide(0);
  cudaUUID_t own{};
  for (int i = 0; i < 16; ++i) own.bytes[i] = static_cast<char>(0x11 * i);
  EXPECT_EQ(cuda::uuid_text(own), "00112233-4455-6677-8899-aabbccddeeff");
}

TEST(Gpu, IsTheOneThatWasChosen) {
  host_gpus = 2;
  gpu::choose(1);
  EXPECT_EQ(cuda::current_device(), 1);
  EXPECT_THROW(gpu::choose(2), unavailable);
  gpu::choose(0);
  host_gpus = 1;
}

TEST(Gpu, GrantsNoMoreMemoryThanItHas) {
  const run::backend_device<gpu, op::gemm> device(1);
  EXPECT_NO_THROW(device.require_memory(host_gpu_memory));
  EXPECT_THROW(device.require_memory(host_gpu_memory + 1), not_enough_memory);
}

}  // namespace
}  // namespace layerbench
