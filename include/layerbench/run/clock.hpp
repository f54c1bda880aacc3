// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include <time.h>

#include <layerbench/base/stats.hpp>

namespace layerbench::run {

/// CPU time of the calling thread is what one thread is timed by: it repeats under load. Several
/// threads are timed by the wall clock.
enum class clock { wall, thread_cpu, process_cpu };

[[nodiscard]] constexpr clock clock_for(int threads) {
  return threads == 1 ? clock::thread_cpu : clock::wall;
}

/// Seconds since some fixed point.
[[nodiscard]] inline double now(clock which) {
  constexpr std::array<clockid_t, 3> ids{CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID,
                                         CLOCK_PROCESS_CPUTIME_ID};
  timespec t{};
  ::clock_gettime(ids.at(static_cast<std::size_t>(which)), &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Seconds that one reading of the clock takes.
[[nodiscard]] inline double clock_cost(clock which) {
  constexpr int readings = 200;
  std::vector<double> costs;
  for (int i = 0; i < 9; ++i) {
    const double start = now(which);
    for (int j = 1; j < readings; ++j) static_cast<void>(now(which));
    costs.push_back((now(which) - start) / readings);
  }
  return stats::median(costs);
}

}  // namespace layerbench::run
