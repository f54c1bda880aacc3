// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/paired_ratio.hpp>
#include <layerbench/analysis/compare/program_output.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>

namespace layerbench::analysis {

namespace detail {

/// The rows of a side. Numbers of which more is better count by their inverse, as if they were
/// times.
class metric_side {
 public:
  explicit metric_side(std::span<const result::metrics> runs) {
    for (const result::metrics& run : runs) {
      std::map<std::string, double>& of_run = values_.emplace_back();
      for (const result::metric& row : run.rows) {
        of_run.emplace(row.name, row.higher_is_better ? 1 / row.value : row.value);
        if (names_.insert(row.name).second) rows_.push_back(row);
      }
    }
  }

  /// In the order of the runs.
  [[nodiscard]] const std::vector<result::metric>& rows() const { return rows_; }
  [[nodiscard]] bool has(const std::string& name) const { return names_.contains(name); }

  [[nodiscard]] std::optional<double> value(std::size_t run, const std::string& name) const {
    const auto found = values_.at(run).find(name);
    return found == values_[run].end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<result::metric> rows_;
  std::set<std::string> names_;
  std::vector<std::map<std::string, double>> values_;  // by run
};

/// The rows of a sum with their weights, and its unit.
struct metric_sum {
  std::vector<std::pair<std::string, double>> terms;
  std::string unit;

  [[nodiscard]] std::optional<double> of_run(const metric_side& side, std::size_t run) const {
    double sum = 0;
    for (const auto& [name, weight] : terms) {
      const std::optional<double> value = side.value(run, name);
      if (!value) return std::nullopt;
      sum += weight * *value;
    }
    return sum;
  }
};

/// The sum of the compared layers of `all`; nothing where they do not add up.
[[nodiscard]] inline std::optional<metric_sum> sum_of(const comparison& all,
                                                      const row_weights& weights) {
  for (const auto& [name, weight] : weights) {
    const auto has_name = [&](const compared_layer& layer) { return layer.row.name == name; };
    if (std::ranges::any_of(all.layers, has_name)) continue;
    throw bad_input("--weights", "", fmt::format("no row is called '{}'", name));
  }
  const auto adds_up = [&](const compared_layer& layer) {
    return !layer.higher_is_better && layer.unit == all.layers.front().unit;
  };
  if (all.layers.size() < 2 || !std::ranges::all_of(all.layers, adds_up)) {
    if (weights.empty()) return std::nullopt;
    throw usage_error(
        "--weights: there is no sum to weigh, since the rows are one, rates, or in several units; "
        "leave it out");
  }
  metric_sum sum{{}, all.layers.front().unit};
  for (const compared_layer& layer : all.layers) {
    const auto weight = weights.find(layer.row.name);
    sum.terms.emplace_back(layer.row.name, weight == weights.end() ? 1 : weight->second);
  }
  return sum;
}

}  // namespace detail

LAYERBENCH_INLINE comparison compare_metrics(std::span<const result::metrics> old,
                                             std::span<const result::metrics> now,
                                             const row_weights& weights,
                                             const comparison_options& chosen) {
  const detail::metric_side before(old);
  const detail::metric_side after(now);
  comparison all;
  all.format = old.front().format;
  all.margin = chosen.margin;
  all.paired = true;
  for (const result::metrics& run : old) all.old_files.push_back(run.file);
  for (const result::metrics& run : now) all.new_files.push_back(run.file);
  const std::size_t pairs = std::min(old.size(), now.size());
  const bool single = before.rows().size() == 1 && after.rows().size() == 1;
  for (const result::metric& row : before.rows()) {
    const std::string& same = single ? after.rows().front().name : row.name;
    detail::pair_times times;
    for (std::size_t run = 0; run < pairs; ++run) {
      times.add(before.value(run, row.name), after.value(run, same));
    }
    if (times.old.empty()) {
      all.only_old.push_back({row.name, row.name});
      continue;
    }
    all.layers.push_back({{.ratio = detail::ratio_of(times),
                           .pairs = std::move(times.ratios),
                           .unit = row.unit,
                           .higher_is_better = row.higher_is_better},
                          {row.name, row.name}});
  }
  for (const result::metric& row : after.rows()) {
    if (!single && !before.has(row.name)) all.only_new.push_back({row.name, row.name});
  }
  if (all.layers.empty()) {
    throw nothing_matched(fmt::format(
        "nothing to compare: no row is on both sides; old has rows such as '{}', new '{}'",
        before.rows().front().name, after.rows().front().name));
  }
  if (const auto sum = detail::sum_of(all, weights)) {
    detail::pair_times times;
    for (std::size_t run = 0; run < pairs; ++run) {
      times.add(sum->of_run(before, run), sum->of_run(after, run));
    }
    if (!times.old.empty()) {
      all.sum.push_back(
          {.ratio = detail::ratio_of(times), .pairs = std::move(times.ratios), .unit = sum->unit});
    }
  }
  all.sure = set_pair_verdicts({pairs, chosen.most_pairs, all.margin}, all.layers, all.sum);
  return all;
}

}  // namespace layerbench::analysis
