// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string_view>
#include <thread>

#include <sched.h>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/list.hpp>
#include <layerbench/machine/core_latency.hpp>

namespace layerbench::run {
namespace core_latency_test {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

/// Two threads, which run at once or one after the other.
struct threads_backend : reference::backend {
  static constexpr std::string_view name = "threads";
  using reference::backend::backend;
  static inline bool at_once = true;
  static int threads_used(int offered) noexcept { return offered; }
  template <class Work>
  static void on_all_threads(const Work& work) {
    if (!at_once) work(0);
    std::thread other([&] { work(1); });
    if (at_once) work(0);
    other.join();
  }
};

TEST(CoreLatency, IsThatBetween_two_threads) {
  backend_device<threads_backend> device(2);
  threads_backend::at_once = true;
  std::optional<double> taken;
  for (int i = 0; i < 100 && !taken; ++i)
    taken = longest_core_latency(device);  // others want cores
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  ASSERT_EQ(taken.has_value(), CPU_COUNT(&mine) > 1);
  EXPECT_THAT(taken.value_or(1e-9), AllOf(Ge(1e-9), Le(1e-3)));
}

TEST(CoreLatency, IsNotKnownOfThreadsThatDoNotRunAtOnce) {
  backend_device<threads_backend> device(2);
  threads_backend::at_once = false;
  EXPECT_EQ(longest_core_latency(device), std::nullopt);
  backend_device<threads_backend> single(1);
  EXPECT_EQ(longest_core_latency(single), std::nullopt);
}

}  // namespace core_latency_test
}  // namespace layerbench::run
