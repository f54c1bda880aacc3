// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/analysis/compare/pairs.hpp>
#include <layerbench/analysis/compare/ratio.hpp>
#include <layerbench/analysis/predict/predictor.hpp>

/// Two runs, or sets of them: which layers and models became faster or slower.
namespace layerbench::analysis {

struct comparison_options {
  double margin = 0.02;  ///< ratios that differ from 1 by no more are the same
  std::optional<analysis::compared_dimension> compared_dimension =
      {};               ///< what is compared; nothing: see differing_sides()
  bool force = false;   ///< whatever else differs
  bool paired = false;  ///< the n-th files of both sides were measured side by side
};

/// A row by its identity (result::identity), and the name of the first that has it.
struct identified_row {
  std::string id;
  std::string name;
};

/// A row that both sides have.
struct compared_layer : compared {
  identified_row row;
};

/// What a primitive adds to the change of a step.
struct contributor {
  std::string name;
  std::string op;
  std::string pass;
  std::string key;
  double old_seconds = 0;  ///< a step, all its calls; 0: the side's step does not have it
  double new_seconds = 0;
  double share = 0;  ///< of the sizes of all primitives' changes

  [[nodiscard]] double change() const { return new_seconds - old_seconds; }
};

/// The predicted step of a case on both sides.
struct compared_model : compared {
  result::configuration_name configuration;
  std::string cache;  ///< state of the timings that are added up
  std::int64_t old_threads = 0;
  std::int64_t new_threads = 0;
  std::vector<contributor>
      top_contributors;  ///< of what is not the same: the fewest with half of all change
};

/// A case that is not compared.
struct uncompared {
  result::configuration_name configuration;
  std::string reason;
  bool incomplete = false;  ///< one side has its whole step, and the other one not
};

struct comparison {
  std::vector<std::string> old_files;
  std::vector<std::string> new_files;
  facts old_loaded;  ///< see loaded()
  facts new_loaded;
  double old_disturbed = 0;  ///< share of the timings during which something else ran
  double new_disturbed = 0;
  analysis::difference difference;
  double margin = 0;
  bool paired = false;
  std::vector<compared_layer> layers;  ///< in the order of the old files
  std::vector<compared_model> models;
  std::vector<identified_row> only_old;
  std::vector<identified_row> only_new;
  std::vector<uncompared> left_out;

  /// Whether differences between runs can show: a side has several.
  [[nodiscard]] bool has_runs() const { return old_files.size() + new_files.size() > 2; }
};

namespace detail {

/// The files of a side and what they measured.
struct side {
  group files;
  timings measured;
  std::vector<identified_row> rows;  ///< those with a timing, each identity once
  double disturbed = 0;              ///< share of the timings

  explicit side(const group& all) : files(all) {
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

  /// All rounds of that identity, whatever case they were made for.
  [[nodiscard]] std::optional<timing> find(const std::string& id) const {
    return measured.find(id, {});
  }
};

[[nodiscard]] inline time_ratio ratio(std::span<const term> old, std::span<const term> now,
                                      bool paired) {
  return paired ? ratio_of_pairs(old, now) : ratio_of(old, now);
}

inline void compare_layers(const side& old, const side& now, comparison& all) {
  for (const identified_row& row : old.rows) {
    const std::optional<timing> before = old.find(row.id);
    const std::optional<timing> after = now.find(row.id);
    if (after) {
      const term first{1, &*before};
      const term second{1, &*after};
      all.layers.push_back({{ratio({&first, 1}, {&second, 1}, all.paired)}, row});
    } else {
      all.only_old.push_back(row);
    }
  }
  for (const identified_row& row : now.rows) {
    if (!old.find(row.id)) all.only_new.push_back(row);
  }
  judge(all.layers, all.margin);
}

/// The primitives whose changes are the largest, as few as have half of all change. Of pairs their
/// times are geometric means over the runs, as those of their ratio: others would be of the slow
/// ones.
[[nodiscard]] inline std::vector<contributor> top_contributors(const covered_step& old,
                                                               const covered_step& now,
                                                               bool paired) {
  std::map<std::string, contributor> by_work;
  const auto add = [&](const covered_step& from, double contributor::* seconds) {
    for (const timed& element : from.step) {
      const result::planned& what = *element.what;
      contributor& one =
          by_work.try_emplace(what.work(), contributor{what.layer, what.op, what.pass, what.key})
              .first->second;
      const double call = paired ? seconds_of_runs(element.rounds) : element.seconds;
      one.*seconds += static_cast<double>(what.count) * call;
    }
  };
  add(old, &contributor::old_seconds);
  add(now, &contributor::new_seconds);
  std::vector<contributor> all;
  double total = 0;
  for (auto& [work, item] : by_work) {
    total += std::abs(item.change());
    all.push_back(std::move(item));
  }
  std::ranges::sort(all, std::ranges::greater{},
                    [](const contributor& d) { return std::abs(d.change()); });
  double covered = 0;
  std::size_t most = 0;
  while (covered < total / 2) covered += std::abs(all[most++].change());
  all.resize(most);
  for (contributor& item : all) item.share = std::abs(item.change()) / total;
  return all;
}

/// Layers without a timing in the state that has the most.
[[nodiscard]] inline std::vector<std::string> missing(const planned_case& planned, const side& of) {
  const auto model = find_timings(planned, of.measured, "model").missing;
  const auto hot = find_timings(planned, of.measured, "hot").missing;
  return model.size() <= hot.size() ? model : hot;
}

/// Why a case that both sides planned is not compared.
[[nodiscard]] inline uncompared leave_out(const planned_case& before, const side& old,
                                          const planned_case& after, const side& now) {
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
  return {before.configuration, fmt::format("{}", fmt::join(reasons, "; ")),
          from_old.empty() != from_new.empty()};
}

/// Compares a case by timings in the model's state, else by hot ones.
inline void compare_case(const planned_case& before, const side& old, const planned_case& after,
                         const side& now, comparison& all) {
  for (const std::string cache : {"model", "hot"}) {
    const covered_step first = find_timings(before, old.measured, cache);
    const covered_step second = find_timings(after, now.measured, cache);
    if (!first.missing.empty() || !second.missing.empty()) continue;
    all.models.push_back({{ratio(terms(first.step), terms(second.step), all.paired)},
                          before.configuration,
                          cache,
                          threads(before.configuration, old.files),
                          threads(before.configuration, now.files),
                          top_contributors(first, second, all.paired)});
    return;
  }
  all.left_out.push_back(leave_out(before, old, after, now));
}

inline void compare_models(const side& old, const side& now, comparison& all) {
  const std::vector<planned_case> before = planned_cases(old.files);
  const std::vector<planned_case> after = planned_cases(now.files);
  for (const planned_case& element : before) {
    const auto same = std::ranges::find(after, element.configuration, &planned_case::configuration);
    if (same != after.end()) {
      compare_case(element, old, *same, now, all);
    } else {
      all.left_out.push_back({element.configuration, "only the old side has the case"});
    }
  }
  for (const planned_case& item : after) {
    if (std::ranges::find(before, item.configuration, &planned_case::configuration) ==
        before.end()) {
      all.left_out.push_back({item.configuration, "only the new side has the case"});
    }
  }
  judge(all.models, all.margin);
  for (compared_model& model : all.models) {
    if (model.verdict == verdict::same) model.top_contributors.clear();
  }
}

}  // namespace detail

/// Compares the files of two sides (not empty), each file a run: row by row where identities agree,
/// and the predicted steps of the cases that both planned. Names say how many threads only where
/// that is not the default: sides that each have one number of them are compared in spite of it,
/// and differ in the field `threads` if the numbers do. Throws bad_input for sides that differ
/// in more than what is compared, and for a file that has aggregates, but no rounds; usage_error
/// for pairs of which one is missing; nothing_matched where no row and no case is on both sides.
[[nodiscard]] inline comparison compare(const group& old, const group& now,
                                        const comparison_options& chosen = {}) {
  if (chosen.paired && old.size() != now.size()) {
    throw usage_error(fmt::format("{} old and {} new files are no pairs", old.size(), now.size()));
  }
  detail::require_rounds(old);
  detail::require_rounds(now);
  const auto before_named = detail::named_threads(old);
  const auto after_named = detail::named_threads(now);
  if (before_named && after_named && before_named != after_named) {
    const std::vector<result::results> before = detail::with_threads_in_context(old, *before_named);
    const std::vector<result::results> after = detail::with_threads_in_context(now, *after_named);
    return compare(group_of(before), group_of(after), chosen);
  }
  const detail::side before(old);
  const detail::side after(now);
  comparison all;
  for (const result::results* file : old) all.old_files.push_back(file->file);
  for (const result::results* file : now) all.new_files.push_back(file->file);
  all.difference = differing_sides(old, now, chosen.compared_dimension, chosen.force);
  all.old_loaded = loaded(*old.front());
  all.new_loaded = loaded(*now.front());
  all.old_disturbed = before.disturbed;
  all.new_disturbed = after.disturbed;
  all.margin = chosen.margin;
  all.paired = chosen.paired;
  detail::compare_layers(before, after, all);
  detail::compare_models(before, after, all);
  if (!all.layers.empty() || !all.models.empty()) return all;
  const auto example = [](const detail::side& of) {
    return of.rows.empty() ? std::string("no rows") : "rows such as " + of.rows.front().name;
  };
  throw nothing_matched(
      fmt::format("nothing to compare: no layer is on both sides; {} has {}, {} has {}",
                  all.old_files.front(), example(before), all.new_files.front(), example(after)));
}

[[nodiscard]] inline comparison compare(std::span<const result::results> old,
                                        std::span<const result::results> now,
                                        const comparison_options& chosen = {}) {
  return compare(group_of(old), group_of(now), chosen);
}

}  // namespace layerbench::analysis
