// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

/// The files of a side and their timings.
struct run_group {
  group files;
  timings measured;
  std::vector<identified_row> rows;  ///< rows with a timing, each identity once
  double disturbed = 0;              ///< share of the timings

  explicit run_group(const group& all) : files(all) {
    std::set<std::string> seen;
    double timed = 0;
    for (const result::results* file : all) {
      measured.add(*file);
      for (const result::measurement& row : file->rows) {
        if (!row.error.empty()) continue;
        timed += 1;
        disturbed += row.disturbed() ? 1 : 0;
        std::string id = result::identity(row);
        if (seen.insert(id).second) rows.push_back({std::move(id), row.name.text()});
      }
    }
    if (timed > 0) disturbed /= timed;
  }

  /// All rounds of that identity, from the rows of all cases.
  [[nodiscard]] std::optional<timing> find(const std::string& id) const {
    return measured.find(id, {});
  }
};

[[nodiscard]] inline compared compare_terms(std::span<const term> old, std::span<const term> now,
                                            bool paired) {
  return paired ? compared_pairs(old, now) : compared{analysis::ratio_of(old, now)};
}

inline void compare_layers(const run_group& old, const run_group& now, comparison& all) {
  for (const identified_row& row : old.rows) {
    const std::optional<timing> before = old.find(row.id);
    const std::optional<timing> after = now.find(row.id);
    if (after) {
      const term first{1, &*before};
      const term second{1, &*after};
      all.layers.push_back({compare_terms({&first, 1}, {&second, 1}, all.paired), row});
    } else {
      all.only_old.push_back(row);
    }
  }
  for (const identified_row& row : now.rows) {
    if (!old.find(row.id)) all.only_new.push_back(row);
  }
}

/// Primitives of a step by their work.
using contributors = std::map<std::string, contributor>;

/// Adds the calls of a step, times `weight`, to `seconds` of its primitives. For paired runs their
/// times are geometric means over the runs, as in the ratio, so that slow runs do not dominate.
inline void add_calls(const covered_step& from, bool paired, double weight,
                      double contributor::* seconds, contributors& by_work) {
  for (const timed_primitive& timed : from.step) {
    const result::planned& planned = *timed.planned;
    contributor& primitive =
        by_work
            .try_emplace(planned.work(),
                         contributor{planned.layer, planned.op, planned.pass, planned.key})
            .first->second;
    const double call = paired ? seconds_of_runs(timed.rounds) : timed.seconds;
    primitive.*seconds += weight * static_cast<double>(planned.count) * call;
  }
}

/// The fewest primitives with the largest changes that make up half of all changes.
[[nodiscard]] inline std::vector<contributor> largest_changes(contributors by_work) {
  std::vector<contributor> all;
  double total = 0;
  for (auto& [work, primitive] : by_work) {
    total += std::abs(primitive.change());
    all.push_back(std::move(primitive));
  }
  std::ranges::sort(all, std::ranges::greater{},
                    [](const contributor& one) { return std::abs(one.change()); });
  double covered = 0;
  std::size_t most = 0;
  while (covered < total / 2) covered += std::abs(all[most++].change());
  all.resize(most);
  for (contributor& one : all) one.share = std::abs(one.change()) / total;
  return all;
}

[[nodiscard]] inline std::vector<contributor> top_contributors(const covered_step& old,
                                                               const covered_step& now,
                                                               bool paired) {
  contributors by_work;
  add_calls(old, paired, 1, &contributor::old_seconds, by_work);
  add_calls(now, paired, 1, &contributor::new_seconds, by_work);
  return largest_changes(std::move(by_work));
}

/// Layers without a timing, in the cache state that lacks the fewest.
[[nodiscard]] inline std::vector<std::string> missing(const planned_case& planned,
                                                      const run_group& of) {
  const auto model = find_timings(planned, of.measured, "model").missing;
  const auto hot = find_timings(planned, of.measured, "hot").missing;
  return model.size() <= hot.size() ? model : hot;
}

/// The reason why a case that both sides planned is not compared.
[[nodiscard]] inline uncompared uncompared_case(const planned_case& before, const run_group& old,
                                                const planned_case& after, const run_group& now) {
  const std::vector<std::string> from_old = missing(before, old);
  const std::vector<std::string> from_new = missing(after, now);
  std::vector<std::string> reasons;
  if (!from_old.empty()) {
    reasons.push_back(fmt::format("old layers without a timing: {}", fmt::join(from_old, " ")));
  }
  if (!from_new.empty()) {
    reasons.push_back(fmt::format("new layers without a timing: {}", fmt::join(from_new, " ")));
  }
  if (reasons.empty()) reasons.emplace_back("no cache state in which both sides timed all layers");
  return {before.model_case, fmt::format("{}", fmt::join(reasons, "; ")),
          from_old.empty() != from_new.empty()};
}

/// Compares a case by timings of cache state `model`, or of `hot` if a side lacks some of those.
inline void compare_case(const planned_case& before, const run_group& old,
                         const planned_case& after, const run_group& now, comparison& all) {
  for (const std::string cache : {"model", "hot"}) {
    const covered_step first = find_timings(before, old.measured, cache);
    const covered_step second = find_timings(after, now.measured, cache);
    if (!first.missing.empty() || !second.missing.empty()) continue;
    all.models.push_back({compare_terms(terms(first.step), terms(second.step), all.paired),
                          before.model_case, cache, threads(before.model_case, old.files),
                          threads(before.model_case, now.files),
                          top_contributors(first, second, all.paired),
                          left_out(before) ? left_out(before) : left_out(after)});
    return;
  }
  all.left_out.push_back(uncompared_case(before, old, after, now));
}

inline void compare_models(const run_group& old, const run_group& now, comparison& all) {
  const std::vector<planned_case> before = planned_cases(old.files);
  const std::vector<planned_case> after = planned_cases(now.files);
  const auto find = [](const std::vector<planned_case>& in, const planned_case& of) {
    return std::ranges::find(in, of.model_case, &planned_case::model_case);
  };
  for (const planned_case& planned : before) {
    if (const auto same = find(after, planned); same != after.end()) {
      compare_case(planned, old, *same, now, all);
    } else {
      all.left_out.push_back({planned.model_case, "only the old side has the case"});
    }
  }
  for (const planned_case& planned : after) {
    if (find(before, planned) == before.end()) {
      all.left_out.push_back({planned.model_case, "only the new side has the case"});
    }
  }
}

/// Sets the verdicts. Layers and models are two families: the step is tested by itself.
inline void set_all_verdicts(comparison& all, std::size_t most_pairs) {
  if (all.paired) {
    all.sure =
        set_pair_verdicts({all.old_files.size(), most_pairs, all.margin}, all.layers, all.models);
  } else {
    set_verdicts(all.layers, all.margin);
    set_verdicts(all.models, all.margin);
  }
  for (compared_model& model : all.models) {
    if (model.verdict == verdict::same) model.top_contributors.clear();
  }
}

/// Throws bad_input for a file of another program.
inline void require_rows(const group& files) {
  for (const result::results* file : files) {
    if (!file->rows.empty() || file->context.contains("layerbench_version")) continue;
    throw bad_input(file->file, "/benchmarks",
                    "has no row of layerbench; the compare.py of Google Benchmark compares files "
                    "of other programs");
  }
}

}  // namespace detail

LAYERBENCH_INLINE comparison compare(const group& old, const group& now,
                                     const comparison_options& chosen) {
  if (chosen.paired && old.size() != now.size()) {
    throw usage_error(fmt::format("{} old and {} new files are no pairs", old.size(), now.size()));
  }
  for (const group* side : {&old, &now}) {
    detail::require_rounds(*side);
    detail::require_rows(*side);
  }
  const auto before_named = detail::named_threads(old);
  const auto after_named = detail::named_threads(now);
  if (before_named && after_named && before_named != after_named) {
    const std::vector<result::results> before = detail::with_threads_in_context(old, *before_named);
    const std::vector<result::results> after = detail::with_threads_in_context(now, *after_named);
    return compare(group_of(before), group_of(after), chosen);
  }
  const detail::run_group before(old);
  const detail::run_group after(now);
  comparison all;
  for (const result::results* file : old) all.old_files.push_back(file->file);
  for (const result::results* file : now) all.new_files.push_back(file->file);
  all.file_notes = notes_of(old);
  std::ranges::move(notes_of(now), std::back_inserter(all.file_notes));
  all.difference = difference_between(old, now, chosen.dimension, chosen.force);
  all.old_loaded = loaded(*old.front());
  all.new_loaded = loaded(*now.front());
  all.old_disturbed = before.disturbed;
  all.new_disturbed = after.disturbed;
  all.margin = chosen.margin;
  all.paired = chosen.paired;
  detail::compare_layers(before, after, all);
  detail::compare_models(before, after, all);
  detail::set_all_verdicts(all, chosen.most_pairs);
  if (!all.layers.empty() || !all.models.empty()) return all;
  const auto example = [](const detail::run_group& of) {
    return of.rows.empty() ? std::string("no rows") : "rows such as " + of.rows.front().name;
  };
  throw nothing_matched(
      fmt::format("nothing to compare: no layer is on both sides; {} has {}, {} has {}",
                  all.old_files.front(), example(before), all.new_files.front(), example(after)));
}

LAYERBENCH_INLINE comparison compare(std::span<const result::results> old,
                                     std::span<const result::results> now,
                                     const comparison_options& chosen) {
  return compare(group_of(old), group_of(now), chosen);
}

}  // namespace layerbench::analysis
