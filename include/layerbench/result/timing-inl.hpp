// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ranges>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/timing.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::map<round_id, double> timing::counted() const {
  std::map<round_id, double> all = undisturbed();
  const double limit = stats::outlier_limit(values_of(all));
  std::erase_if(all, [&](const auto& round) { return round.second > limit; });
  return all;
}

LAYERBENCH_INLINE double timing::seconds() const {
  return stats::mean_without_outliers(values_of(undisturbed()));
}

LAYERBENCH_INLINE void timing::add(const round_id& round, const measurement& row) {
  rounds.emplace(round, estimated_seconds(row));
  if (row.disturbed()) disturbed.insert(round);
  if (row.slowed()) slowed.insert(round);
  const auto copy = [&](std::string_view counter, std::optional<double>& into) {
    const auto found = row.counters.find(counter);
    if (found != row.counters.end()) into = found->second;
  };
  copy("flops_exact", flops);
  copy("flops", padded_flops);
}

LAYERBENCH_INLINE timing timing::of_run(std::size_t run) const {
  timing result = *this;
  std::erase_if(result.rounds,
                [&](const auto& round) { return runs.at(round.first.first) != run; });
  for (std::set<round_id>* marked : {&result.disturbed, &result.slowed}) {
    std::erase_if(*marked, [&](const round_id& id) { return runs.at(id.first) != run; });
  }
  return result;
}

LAYERBENCH_INLINE void timing::append(const timing& other) {
  for (const auto& [round, value] : other.rounds) {
    rounds.emplace(round_id{runs.size() + round.first, round.second}, value);
  }
  const auto add = [&](const std::set<round_id>& from, std::set<round_id>& to) {
    for (const round_id& round : from) to.emplace(runs.size() + round.first, round.second);
  };
  add(other.disturbed, disturbed);
  add(other.slowed, slowed);
  runs.insert(runs.end(), other.runs.begin(), other.runs.end());
  if (!flops) flops = other.flops;
  if (!padded_flops) padded_flops = other.padded_flops;
}

LAYERBENCH_INLINE std::map<round_id, double> timing::undisturbed() const {
  constexpr std::size_t enough = 3;
  const bool has_enough = rounds.size() - disturbed.size() >= enough;
  const std::set<round_id>& marked = has_enough ? disturbed : slowed;
  std::map<round_id, double> all = rounds;
  if (marked.size() < rounds.size()) {
    std::erase_if(all, [&](const auto& round) { return marked.contains(round.first); });
  }
  return all;
}

LAYERBENCH_INLINE std::vector<double> timing::values_of(const std::map<round_id, double>& all) {
  const auto values = std::views::values(all);
  return {values.begin(), values.end()};
}

namespace detail {

/// Mean of the slowed rounds / mean of the others; nothing if either are missing.
[[nodiscard]] inline std::optional<double> slowdown(const timing& of) {
  std::vector<double> slow;
  std::vector<double> usual;
  for (const auto& [round, seconds] : of.rounds) {
    (of.slowed.contains(round) ? slow : usual).push_back(seconds);
  }
  if (slow.empty() || usual.empty()) return std::nullopt;
  return stats::mean(slow) / stats::mean(usual);
}

}  // namespace detail

LAYERBENCH_INLINE void correct_slowed_rounds(std::span<const timing_of_op> step) {
  std::map<std::string_view, std::vector<double>> slowdowns;
  for (const auto& [op, rounds] : step) {
    if (const auto factor = detail::slowdown(*rounds)) slowdowns[op].push_back(*factor);
  }
  std::map<std::string_view, double> factors;
  for (auto& [op, all] : slowdowns) {
    if (all.size() < stats::min_sample_size) continue;
    factors[op] = std::max(1.0, stats::median(std::move(all)));
  }
  for (const auto& [op, rounds] : step) {
    const auto factor = factors.find(op);
    if (factor == factors.end()) continue;
    for (const round_id& round : rounds->slowed) rounds->rounds.at(round) /= factor->second;
  }
}

LAYERBENCH_INLINE double estimated_seconds(const measurement& row) {
  const bool naive = row.name.cache == "hot" && !row.name.model_case.contended();
  return naive ? row.seconds : row.mean_seconds();
}

}  // namespace layerbench::result
