// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ranges>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::map<round_id, double> timing::counted() const {
  std::map<round_id, double> all = undisturbed();
  const double limit = stats::outlier_limit(values_of(all));
  std::erase_if(all, [&](const auto& round) { return round.second > limit; });
  return all;
}

LAYERBENCH_INLINE double timing::seconds() const {
  return stats::mean_without_outliers(values_of(undisturbed()));
}

LAYERBENCH_INLINE timing timing::of_run(std::size_t run) const {
  timing result = *this;
  std::erase_if(result.rounds,
                [&](const auto& round) { return runs.at(round.first.first) != run; });
  std::erase_if(result.disturbed, [&](const round_id& id) { return runs.at(id.first) != run; });
  return result;
}

LAYERBENCH_INLINE void timing::append(const timing& other) {
  for (const auto& [round, value] : other.rounds) {
    rounds.emplace(round_id{runs.size() + round.first, round.second}, value);
  }
  for (const round_id& round : other.disturbed) {
    disturbed.emplace(runs.size() + round.first, round.second);
  }
  runs.insert(runs.end(), other.runs.begin(), other.runs.end());
  if (!flops) flops = other.flops;
  if (!padded_flops) padded_flops = other.padded_flops;
}

LAYERBENCH_INLINE std::map<round_id, double> timing::undisturbed() const {
  constexpr std::size_t enough = 3;
  std::map<round_id, double> all = rounds;
  if (rounds.size() - disturbed.size() >= enough) {
    std::erase_if(all, [&](const auto& round) { return disturbed.contains(round.first); });
  }
  return all;
}

LAYERBENCH_INLINE std::vector<double> timing::values_of(const std::map<round_id, double>& all) {
  const auto values = std::views::values(all);
  return {values.begin(), values.end()};
}

LAYERBENCH_INLINE double estimated_seconds(const result::measurement& row) {
  const bool naive = row.name.cache == "hot" && !row.name.model_case.contended();
  return naive ? row.seconds : row.mean_seconds();
}

namespace detail {

/// Whether two rows are rounds of the same benchmark.
[[nodiscard]] inline bool same_benchmark(const result::measurement& a,
                                         const result::measurement& b) {
  return a.label.key == b.label.key && a.label.state == b.label.state && a.name == b.name;
}

LAYERBENCH_INLINE void add_round(const result::measurement& row, const round_id& round,
                                 timing& to) {
  to.rounds.emplace(round, estimated_seconds(row));
  if (row.disturbed()) to.disturbed.insert(round);
  const auto copy = [&](std::string_view counter, std::optional<double>& into) {
    const auto found = row.counters.find(counter);
    if (found != row.counters.end()) into = found->second;
  };
  copy("flops_exact", to.flops);
  copy("flops", to.padded_flops);
}

}  // namespace detail

LAYERBENCH_INLINE void timings::add(const result::results& file) {
  std::map<std::pair<std::string, result::row_name>, std::size_t> series_of_row;
  const result::measurement* previous = nullptr;
  timing* same = nullptr;
  std::size_t* series = nullptr;
  for (const result::measurement& row : file.rows) {
    if (!row.error.empty()) continue;
    bool is_new = false;
    // The rounds of a benchmark usually follow one another, which saves most look-ups.
    if (previous == nullptr || !detail::same_benchmark(*previous, row)) {
      std::string identity = result::identity(row);
      same = &of_case(identity, row.name.model_case);
      const auto known = series_of_row.try_emplace({std::move(identity), row.name}, 0);
      series = &known.first->second;
      is_new = known.second;
    }
    previous = &row;
    // A file merged from several files has the rounds of a row more than once.
    if (is_new || same->rounds.contains({*series, row.round})) {
      *series = same->runs.size();
      same->runs.push_back(files_);
    }
    detail::add_round(row, {*series, row.round}, *same);
  }
  ++files_;
}

LAYERBENCH_INLINE std::optional<timing> timings::find(const std::string& identity,
                                                      const result::case_name& model_case) const {
  const auto found = by_identity_.find(identity);
  if (found == by_identity_.end()) return std::nullopt;
  const auto own = std::ranges::find(found->second, model_case, &case_timing::first);
  if (own != found->second.end()) {
    timing of_case = own->second;
    of_case.own = true;
    return of_case;
  }
  timing others;
  for (const auto& [other, of_other] : found->second) others.append(of_other);
  return others;
}

LAYERBENCH_INLINE timing& timings::of_case(const std::string& identity,
                                           const result::case_name& model_case) {
  std::vector<case_timing>& all = by_identity_[identity];
  const auto found = std::ranges::find(all, model_case, &case_timing::first);
  return found != all.end() ? found->second : all.emplace_back(model_case, timing{}).second;
}

}  // namespace layerbench::analysis
