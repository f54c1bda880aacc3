// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/predict/timings.hpp>

/// How sure a sum of medians is, when its terms were measured in the same rounds.
namespace layerbench::predict {

/// A term of a sum over primitives.
struct term {
  double weight;
  const timing* of;
};

/// The rounds that all terms have, in their order.
[[nodiscard]] inline std::vector<round_id> common_rounds(std::span<const term> terms) {
  std::vector<round_id> common;
  if (terms.empty()) return common;
  for (const auto& [round, value] : terms.front().of->rounds) {
    const auto has = [&, id = round](const term& each) { return each.of->rounds.contains(id); };
    if (std::ranges::all_of(terms, has)) common.push_back(round);
  }
  return common;
}

namespace detail {

/// A term's values in the common rounds, and by ascending value those of them that count: all
/// where none does.
struct series {
  double weight;
  std::vector<double> values;
  std::vector<std::size_t> ascending;
};

[[nodiscard]] inline std::vector<series> in_rounds(std::span<const term> terms,
                                                   const std::vector<round_id>& rounds) {
  std::vector<series> all;
  for (const term& each : terms) {
    series one{each.weight, {}, {}};
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      one.values.push_back(each.of->rounds.at(rounds[i]));
      if (each.of->counts(rounds[i])) one.ascending.push_back(i);
    }
    if (one.ascending.empty()) {
      one.ascending.resize(rounds.size());
      std::iota(one.ascending.begin(), one.ascending.end(), std::size_t{0});
    }
    std::ranges::sort(one.ascending, {}, [&](std::size_t i) { return one.values[i]; });
    all.push_back(std::move(one));
  }
  return all;
}

/// Median of a series in which round i was drawn `times[i]` times; of all its rounds where none of
/// them was. It needs no sorting, as the series knows its order.
[[nodiscard]] inline double drawn_median(const series& of, const std::vector<std::size_t>& times) {
  std::size_t n = 0;
  for (const std::size_t i : of.ascending) n += times[i];
  if (n == 0) return drawn_median(of, std::vector<std::size_t>(times.size(), 1));
  std::size_t below = 0;
  double lower = 0;
  for (const std::size_t i : of.ascending) {
    const std::size_t through = below + times[i];
    if (below <= (n - 1) / 2 && through > (n - 1) / 2) lower = of.values[i];
    if (through > n / 2) return (lower + of.values[i]) / 2;
    below = through;
  }
  return lower;
}

}  // namespace detail

/// A 95 % interval of the weighted sum of medians: percentiles of 1000 bootstrap sums (Efron and
/// Tibshirani, An Introduction to the Bootstrap, 13.3). Each draws whole rounds with replacement,
/// the same for all terms, since what disturbs a round disturbs all that was measured in it. The
/// draws are the same in every call. Nothing below 5 rounds: even least and largest of 4 samples
/// hold the median in 87 % of cases only.
[[nodiscard]] inline std::optional<stats::interval> bootstrap_interval(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  constexpr std::size_t least_rounds = 5;
  constexpr std::size_t draws = 1000;
  if (rounds.size() < least_rounds) return std::nullopt;
  const std::vector<detail::series> all = detail::in_rounds(terms, rounds);
  std::mt19937_64 random(1);
  std::vector<double> sums;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    std::vector<std::size_t> times(rounds.size(), 0);
    for (std::size_t i = 0; i < rounds.size(); ++i) ++times[random() % rounds.size()];
    double sum = 0;
    for (const detail::series& each : all) sum += each.weight * detail::drawn_median(each, times);
    sums.push_back(sum);
  }
  std::ranges::sort(sums);
  return stats::interval{stats::quantile(sums, 0.025), stats::quantile(sums, 0.975)};
}

/// Least and largest weighted sum of a single round; nothing when there is none.
[[nodiscard]] inline std::optional<stats::interval> range_of_rounds(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  std::vector<double> sums;
  for (const round_id& round : rounds) {
    sums.push_back(0);
    for (const term& each : terms) sums.back() += each.weight * each.of->rounds.at(round);
  }
  if (sums.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(sums);
  return stats::interval{low, high};
}

}  // namespace layerbench::predict
