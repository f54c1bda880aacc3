// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/predict/timings.hpp>

/// How sure a sum of means is, when its terms were measured in the same rounds.
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

/// A term's values in the common rounds, those that count: all where none does.
struct series {
  double weight;
  std::vector<double> values;
  std::vector<bool> count;
};

[[nodiscard]] inline std::vector<series> in_rounds(std::span<const term> terms,
                                                   const std::vector<round_id>& rounds) {
  std::vector<series> all;
  for (const term& each : terms) {
    series one{each.weight, {}, {}};
    const std::map<round_id, double> counted = each.of->counted();
    for (const round_id& round : rounds) {
      one.values.push_back(each.of->rounds.at(round));
      one.count.push_back(counted.contains(round));
    }
    if (std::ranges::count(one.count, true) == 0) one.count.assign(rounds.size(), true);
    all.push_back(std::move(one));
  }
  return all;
}

/// Mean of a series in which round i was drawn `times[i]` times; of all its rounds where none of
/// those that count was.
[[nodiscard]] inline double drawn_mean(const series& of, const std::vector<std::size_t>& times) {
  std::size_t n = 0;
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!of.count[i]) continue;
    n += times[i];
    sum += static_cast<double>(times[i]) * of.values[i];
  }
  if (n == 0) return drawn_mean(of, std::vector<std::size_t>(times.size(), 1));
  return sum / static_cast<double>(n);
}

/// The percentile, for 2.5 %, that makes an interval of `n` values as wide as Student's
/// (Hesterberg, What Teachers Should Know About the Bootstrap, 2015: expanded percentile
/// intervals).
[[nodiscard]] inline double expanded_tail(std::size_t n) {
  const double freedom = static_cast<double>(n) - 1;
  constexpr double z = 1.959964;
  // Cornish and Fisher's expansion of Student's quantile (Abramowitz and Stegun, 26.7.5).
  const double z2 = z * z;
  const double first = z * (z2 + 1) / 4;
  const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double t = z + (first + (second + third / freedom) / freedom) / freedom;
  return std::erfc(std::sqrt((freedom + 1) / freedom) * t / std::numbers::sqrt2) / 2;
}

}  // namespace detail

/// A 95 % interval of the weighted sum of means: percentiles of 2000 bootstrap sums (Efron and
/// Tibshirani, An Introduction to the Bootstrap, 13.3), expanded for few rounds. Each draws whole
/// rounds with replacement, the same for all terms, since what disturbs a round disturbs all that
/// was measured in it. The draws are the same in every call. Nothing below 5 rounds, of which it
/// would be far too narrow.
[[nodiscard]] inline std::optional<stats::interval> bootstrap_interval(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  constexpr std::size_t draws = 2000;
  if (rounds.size() < stats::some_values) return std::nullopt;
  const std::vector<detail::series> all = detail::in_rounds(terms, rounds);
  std::mt19937_64 random(1);
  std::vector<double> sums;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    std::vector<std::size_t> times(rounds.size(), 0);
    for (std::size_t i = 0; i < rounds.size(); ++i) ++times[random() % rounds.size()];
    double sum = 0;
    for (const detail::series& each : all) sum += each.weight * detail::drawn_mean(each, times);
    sums.push_back(sum);
  }
  std::ranges::sort(sums);
  std::size_t least = rounds.size();  // of values that count
  for (const detail::series& each : all) {
    least = std::min(least, static_cast<std::size_t>(std::ranges::count(each.count, true)));
  }
  const double tail = detail::expanded_tail(std::max(least, stats::some_values));
  return stats::interval{stats::quantile(sums, tail), stats::quantile(sums, 1 - tail)};
}

/// Least and largest weighted sum of a single round, in which terms that do not count in it have
/// their usual time; nothing when there is none.
[[nodiscard]] inline std::optional<stats::interval> range_of_rounds(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  std::vector<double> sums(rounds.size(), 0);
  for (const term& each : terms) {
    const std::map<round_id, double> counted = each.of->counted();
    const double usual = each.of->seconds();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      const auto found = counted.find(rounds[i]);
      sums[i] += each.weight * (found != counted.end() ? found->second : usual);
    }
  }
  if (sums.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(sums);
  return stats::interval{low, high};
}

}  // namespace layerbench::predict
