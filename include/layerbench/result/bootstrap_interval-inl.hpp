// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/result/bootstrap_interval.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::vector<round_id> common_rounds(std::span<const term> terms) {
  std::vector<round_id> common;
  if (terms.empty()) return common;
  for (const auto& [round, value] : terms.front().of->rounds) {
    const auto has = [&, id = round](const term& one) { return one.of->rounds.contains(id); };
    if (std::ranges::all_of(terms, has)) common.push_back(round);
  }
  return common;
}

namespace detail {

LAYERBENCH_INLINE series::series(std::span<const term> terms, const std::vector<round_id>& rounds) {
  std::map<std::vector<bool>, std::vector<double>> sums;  // by the rounds that count
  for (const term& one : terms) {
    const std::map<round_id, double> counted = one.of->counted();
    std::vector<bool> counts;
    for (const round_id& round : rounds) counts.push_back(counted.contains(round));
    const auto n = static_cast<std::size_t>(std::ranges::count(counts, true));
    if (n == 0) counts.assign(rounds.size(), true);
    least_ = std::min(least_, n == 0 ? rounds.size() : n);
    std::vector<double>& sum = sums.try_emplace(std::move(counts), rounds.size()).first->second;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      sum[i] += one.weight * one.of->rounds.at(rounds[i]);
    }
  }
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    for (const auto& [counts, sum] : sums) {
      counts_.push_back(counts[i] ? 1 : 0);
      values_.push_back(counts[i] ? sum[i] : 0);
    }
  }
  kinds_ = sums.size();
  all_means_ = means(std::vector<double>(rounds.size(), 1));
}

LAYERBENCH_INLINE double series::drawn_sum(const std::vector<double>& times) const {
  const std::vector<double> drawn = means(times);
  double sum = 0;
  for (std::size_t k = 0; k < kinds_; ++k) sum += std::isnan(drawn[k]) ? all_means_[k] : drawn[k];
  return sum;
}

LAYERBENCH_INLINE std::vector<double> series::means(const std::vector<double>& times) const {
  std::vector<double> n(kinds_, 0);
  std::vector<double> sums(kinds_, 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0) continue;
    const double* const counts = &counts_[i * kinds_];
    const double* const values = &values_[i * kinds_];
    for (std::size_t k = 0; k < kinds_; ++k) {
      n[k] += times[i] * counts[k];
      sums[k] += times[i] * values[k];
    }
  }
  for (std::size_t k = 0; k < kinds_; ++k) sums[k] /= n[k];
  return sums;
}

LAYERBENCH_INLINE double expanded_tail(std::size_t n) {
  const double degrees_of_freedom = static_cast<double>(n) - 1;
  const double t = stats::student_t_quantile(degrees_of_freedom);
  return std::erfc(std::sqrt((degrees_of_freedom + 1) / degrees_of_freedom) * t /
                   std::numbers::sqrt2) /
         2;
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<stats::interval> bootstrap_interval(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  constexpr std::size_t draws = 2000;
  if (rounds.size() < stats::min_sample_size) return std::nullopt;
  const detail::series all(terms, rounds);
  std::mt19937_64 random(1);
  std::vector<double> sums;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    std::vector<double> times(rounds.size(), 0);
    for (std::size_t i = 0; i < rounds.size(); ++i) ++times[random() % rounds.size()];
    sums.push_back(all.drawn_sum(times));
  }
  std::ranges::sort(sums);
  const double tail = detail::expanded_tail(std::max(all.least(), stats::min_sample_size));
  return stats::interval{stats::quantile(sums, tail), stats::quantile(sums, 1 - tail)};
}

LAYERBENCH_INLINE std::optional<stats::interval> range_of_rounds(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  std::vector<double> sums(rounds.size(), 0);
  for (const term& one : terms) {
    const std::map<round_id, double> counted = one.of->counted();
    const double usual = one.of->seconds();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      const auto found = counted.find(rounds[i]);
      sums[i] += one.weight * (found != counted.end() ? found->second : usual);
    }
  }
  if (sums.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(sums);
  return stats::interval{low, high};
}

LAYERBENCH_INLINE std::optional<stats::interval> range_of_disturbed(
    std::span<const term> terms, const std::vector<round_id>& rounds) {
  std::vector<double> sums(rounds.size(), 0);
  std::size_t disturbed = 0;
  for (const term& one : terms) {
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      sums[i] += one.weight * one.of->rounds.at(rounds[i]);
      if (one.of->disturbed.contains(rounds[i])) ++disturbed;
    }
  }
  const auto timings = static_cast<double>(terms.size() * rounds.size());
  if (static_cast<double>(disturbed) <= mostly_disturbed * timings) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(sums);
  return stats::interval{low, high};
}

}  // namespace layerbench::result
