// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <optional>
#include <string_view>
#include <thread>

#include <sched.h>

#include <gtest/gtest.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/machine/core_latency.hpp>

namespace layerbench::run {
namespace machine_core_latency_test {

/// A backend with two threads, which run at once or one after the other.
struct threads_backend : reference::backend {
  static constexpr std::string_view name = "threads";
  using reference::backend::backend;
  static inline bool at_once = true;
  static backend_entry entry() {
    backend_entry own = backend::entry();
    own.threads_used = [](int offered) noexcept { return offered; };
    return own;
  }
  void on_all_threads(const std::function<void(int)>& work) const override {
    std::atomic<int> turn = 0;
    if (!at_once) work(0);
    std::thread other([&] {
      if (at_once) rendezvous(turn, 1);
      work(1);
    });
    if (at_once) {
      rendezvous(turn, 0);
      work(0);
    }
    other.join();
  }

 private:
  /// Returns when both threads are running: they have just exchanged messages.
  static void rendezvous(std::atomic<int>& turn, int thread) {
    for (int i = thread; i < 200; i += 2) {
      while (turn.load() != i) {
      }
      turn.store(i + 1);
    }
  }
};

TEST(CoreLatency, IsThatBetween_two_threads) {
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  backend_device<threads_backend> device(2);
  threads_backend::at_once = true;
  if (CPU_COUNT(&usable) < 2) {
    EXPECT_EQ(longest_core_to_core_latency(device), std::nullopt);
    return;
  }
  // Other programs may interrupt one of the threads, so that there is no result, or make a round
  // trip longer. A call makes more than a thousand of them, one after the other.
  constexpr double patience = 300;  // seconds; a busy machine needs some of them
  std::optional<double> latency;
  double whole_call = 0;
  for (const double begin = stopwatch::now(); !latency && stopwatch::now() - begin < patience;) {
    const double start = stopwatch::now();
    latency = longest_core_to_core_latency(device);
    whole_call = stopwatch::now() - start;
  }
  ASSERT_TRUE(latency) << "the threads never ran at once";
  EXPECT_GE(*latency, 1e-9) << "light passes 30 cm";
  EXPECT_LE(*latency, whole_call / 1000);
}

TEST(CoreLatency, IsNotKnownOfThreadsThatDoNotRunAtOnce) {
  backend_device<threads_backend> device(2);
  threads_backend::at_once = false;
  EXPECT_EQ(longest_core_to_core_latency(device), std::nullopt);
  backend_device<threads_backend> single(1);
  EXPECT_EQ(longest_core_to_core_latency(single), std::nullopt);
}

}  // namespace machine_core_latency_test
}  // namespace layerbench::run
