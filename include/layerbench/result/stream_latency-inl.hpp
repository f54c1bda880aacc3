// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/result/stream_latency.hpp>

namespace layerbench::result {

namespace detail {

/// The row of the case with the largest value of a counter; null where no row has it.
[[nodiscard]] inline const measurement* most(std::span<const measurement> rows,
                                             const case_name& model_case, std::string_view of) {
  const measurement* found = nullptr;
  double largest = 0;
  for (const measurement& row : rows) {
    const auto value = row.counters.find(of);
    if (value == row.counters.end() || row.name.model_case != model_case) continue;
    if (found != nullptr && value->second <= largest) continue;
    found = &row;
    largest = value->second;
  }
  return found;
}

/// The quantiles in counters `<prefix>p50<suffix>`; nothing where one is missing.
[[nodiscard]] inline std::optional<latencies> quantiles_in(const measurement& row,
                                                           std::string_view prefix,
                                                           std::string_view suffix) {
  latencies found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto value =
        row.counters.find(fmt::format("{}{}{}", prefix, latency_quantiles.at(i).name, suffix));
    if (value == row.counters.end()) return std::nullopt;
    found.at(i) = value->second;
  }
  return found;
}

/// The value at a share of a distribution, between known quantiles on a straight line.
[[nodiscard]] inline double at_share(const latencies& known, double share) {
  if (share <= latency_quantiles.front().share) return known.front();
  for (std::size_t i = 1; i < known.size(); ++i) {
    const auto [high, name] = latency_quantiles.at(i);
    if (share > high) continue;
    const double low = latency_quantiles.at(i - 1).share;
    const double part = (share - low) / (high - low);
    return known.at(i - 1) + part * (known.at(i) - known.at(i - 1));
  }
  return known.back();
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<latencies> measured_latencies(std::span<const measurement> chains,
                                                              const case_name& model_case) {
  const measurement* row = detail::most(chains, model_case, "latencies");
  return row == nullptr ? std::nullopt : detail::quantiles_in(*row, "latency_", "_s");
}

LAYERBENCH_INLINE std::optional<stream_variation> variation_in(std::span<const measurement> rows,
                                                               const case_name& model_case) {
  const measurement* row = detail::most(rows, model_case, "watched_s");
  const auto slowness = row == nullptr ? std::nullopt : detail::quantiles_in(*row, "slow_", "");
  if (!slowness) return std::nullopt;
  const auto counter = [&](const char* name) {
    const auto found = row->counters.find(name);
    return found == row->counters.end() ? 0 : found->second;
  };
  const double waits = counter("waits");
  if (!(waits > 0)) return stream_variation{*slowness};
  const double waited = counter("waited_s");
  return stream_variation{*slowness, waited / waits, (counter("watched_s") - waited) / waits};
}

LAYERBENCH_INLINE latencies latencies_of(const stream_variation& by, double work) {
  constexpr int steps = 100;  // of each distribution
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) {
    const double own = detail::at_share(by.slowness, (i + 0.5) / steps) * work;
    for (int j = 0; j < steps; ++j) {
      const double waits = by.turn > 0 ? std::floor(own / by.turn + (j + 0.5) / steps) : 0;
      all.push_back(own + waits * by.wait);
    }
  }
  std::ranges::sort(all);
  latencies found{};
  for (std::size_t i = 0; i < found.size(); ++i)
    found.at(i) = stats::quantile(all, latency_quantiles.at(i).share);
  return found;
}

}  // namespace layerbench::result
