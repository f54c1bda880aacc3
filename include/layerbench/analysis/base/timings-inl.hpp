// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

/// Whether two rows are rounds of the same benchmark.
[[nodiscard]] inline bool same_benchmark(const result::measurement& a,
                                         const result::measurement& b) {
  return a.label.key == b.label.key && a.label.state == b.label.state && a.name == b.name;
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
    same->add({*series, row.round}, row);
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
