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

/// Latencies as measured: those of the chain's row of the most steps. Nothing where no row has any.
[[nodiscard]] std::optional<latencies> measured_latencies(std::span<const measurement> chains,
                                                          const case_name& model_case);

/// What was seen beside the rows of a case: how their calls varied, and how a thread that always
/// wanted its processor had it in turns.
struct stream_variation {
  latencies slowness;  ///< of calls for as long as a step lasts, relative to their mean
  double wait = 0;     ///< seconds; 0: it never waited
  double turn = 0;     ///< seconds between two waits

  /// How much longer work takes by the wait behind each turn.
  [[nodiscard]] double delay() const { return turn > 0 ? 1 + wait / turn : 1; }
};

/// That of the row that has seen most; nothing where none has seen anything.
[[nodiscard]] std::optional<stream_variation> variation_in(std::span<const measurement> rows,
                                                           const case_name& model_case);

/// Latencies of steps of `work` seconds on average, which begin anywhere in a turn.
[[nodiscard]] latencies latencies_of(const stream_variation& by, double work);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/stream_latency-inl.hpp>
#endif
