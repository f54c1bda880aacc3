// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>

/// Latencies of steps of streams: how long single steps take, beside their mean.
namespace layerbench::result {

/// A quantile of which counters and predictions speak.
struct latency_quantile {
  double share;
  std::string_view name;
};

inline constexpr std::array<latency_quantile, 5> latency_quantiles{
    {{0.1, "p10"}, {0.5, "p50"}, {0.9, "p90"}, {0.95, "p95"}, {0.99, "p99"}}};

/// Seconds of steps at these quantiles.
using latencies = std::array<double, latency_quantiles.size()>;

/// Latencies as measured: those of the chain's row that knows the most steps. Nothing where no row
/// has any.
[[nodiscard]] std::optional<latencies> measured_latencies(std::span<const measurement> chains,
                                                          const case_name& model_case);

/// Latencies of steps whose mean is `seconds`, by what was seen beside the case's rows: their work
/// varies as the calls did, and they wait for a processor as often and as long as was watched,
/// mostly for the other streams of the `turns` that share it. Nothing where no row has seen any.
[[nodiscard]] std::optional<latencies> expected_latencies(std::span<const measurement> rows,
                                                          const case_name& model_case,
                                                          double seconds, int turns,
                                                          int threads_each);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/stream_latency-inl.hpp>
#endif
