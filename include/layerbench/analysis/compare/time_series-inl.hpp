// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/compare/comparison-inl.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/result/context_difference.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::optional<std::chrono::sys_seconds> instant(const std::string& date) {
  using namespace std::chrono;
  std::tm at{};
  std::istringstream text(date);
  if (!(text >> std::get_time(&at, "%Y-%m-%dT%H:%M:%S"))) return std::nullopt;
  char sign = '+';
  char colon = ':';
  int offset_hours = 0;
  int offset_minutes = 0;
  text >> sign >> offset_hours >> colon >> offset_minutes;  // UTC if there is no offset
  const auto offset = hours(offset_hours) + minutes(offset_minutes);
  constexpr int first_year = 1900;
  const sys_days day = year(at.tm_year + first_year) / (at.tm_mon + 1) / at.tm_mday;
  return day + hours(at.tm_hour) + minutes(at.tm_min) + seconds(at.tm_sec) -
         (sign == '-' ? -offset : offset);
}

LAYERBENCH_INLINE std::optional<double> time_series::change_at(std::size_t i) const {
  if (is_long()) {
    const auto found = std::ranges::find(changes, i, &change_point::first);
    if (found == changes.end()) return std::nullopt;
    return found->ratio.value() - 1;
  }
  if (i == 0) return std::nullopt;
  const history_point& before = points[i - 1];
  const history_point& now = points[i];
  if (!before.has_confidence_interval || !now.has_confidence_interval) return std::nullopt;
  const bool apart =
      before.between->high < now.between->low || now.between->high < before.between->low;
  return apart ? std::optional(change(before, now)) : std::nullopt;
}

namespace detail {

/// A file with its date.
struct file_of_date {
  std::chrono::sys_seconds when;
  const result::results* file;
};

/// The files with a date, oldest first.
[[nodiscard]] inline std::vector<file_of_date> by_date(std::span<const result::results> files) {
  std::vector<file_of_date> all;
  for (const result::results& file : files) {
    if (const auto when = instant(file.context_value("date").value_or("")))
      all.push_back({*when, &file});
  }
  std::ranges::stable_sort(all, {}, &file_of_date::when);
  return all;
}

[[nodiscard]] inline history_point point_of(const file_of_date& of, const timed_sum& time) {
  return {of.when, of.file->context_value("date").value_or(""), of.file->file, time};
}

/// Adds the predictions from a file to the series of their cases, which are created as needed, also
/// for steps that lack layers.
inline void add_steps(const file_of_date& of, const options& chosen, const timings& measured,
                      std::vector<step_series>& all) {
  const group alone{of.file};
  const std::string device = of.file->device();
  for (const planned_case& planned : planned_cases(alone)) {
    const prediction p = predict_case(planned, measured, alone, chosen);
    const auto same = std::ranges::find_if(all, [&](const step_series& known) {
      return known.model_case == p.model_case && known.threads == p.threads &&
             known.device == device && known.cache == p.cache && known.left_out == p.left_out;
    });
    step_series& series =
        same != all.end()
            ? *same
            : all.emplace_back(step_series{{p.model_case, p.threads, device}, p.cache, p.left_out});
    if (!p.step || !p.missing.empty()) continue;
    const covered_step covered = find_timings(planned, measured, p.cache);
    history_point point = point_of(of, timed_sum(terms(covered.step)));
    point.time.seconds = p.step->seconds;  // with the framework's overhead
    point.between = p.step->interval();
    point.has_confidence_interval = p.step->kind == interval_method::bootstrap;
    point.digits = p.digits();
    series.points.push_back(std::move(point));
  }
}

/// The places of series in a list, by identity, threads and device.
using series_places = std::map<std::tuple<std::string, std::int64_t, std::string>, std::size_t>;

/// Adds the rows of a file to their series; `places` finds these.
inline void add_layers(const file_of_date& of, const timings& measured, series_places& places,
                       std::vector<layer_series>& all) {
  const std::string device = of.file->device();
  std::set<std::string> seen;
  for (const result::measurement& row : of.file->rows) {
    if (!row.error.empty()) continue;
    std::string id = result::identity(row);
    if (!seen.insert(id).second) continue;
    const std::int64_t used = threads(row.name.model_case, {of.file});
    const auto [place, is_new] = places.try_emplace({id, used, device}, all.size());
    if (is_new) all.push_back({{row.name.model_case, used, device}, {id, row.name.text()}});
    const std::optional<timing> found = measured.find(id, {});
    const term one{1, &*found};
    history_point point = point_of(of, timed_sum(std::span(&one, 1)));
    std::vector<double> counted;
    for (const auto& [round, seconds] : found->counted()) counted.push_back(seconds);
    point.between = stats::mean_interval(counted);
    point.has_confidence_interval = point.time.has_enough_rounds();
    all[place->second].points.push_back(std::move(point));
  }
}

/// Names the fields in which each point differs from the one before, and finds the changes.
template <class Series>
void finish(std::vector<Series>& all, std::span<const file_of_date> files, double margin) {
  const auto file_of = [&](const history_point& point) -> const result::results& {
    return *std::ranges::find(files, point.file, [](const file_of_date& one) {
              return one.file->file;
            })->file;
  };
  const auto tests = std::ranges::count_if(all, &time_series::is_long);
  for (Series& series : all) {
    std::vector<timed_sum> times;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      history_point& point = series.points[i];
      times.push_back(point.time);
      if (i == 0) continue;
      point.differing = result::differing_context(file_of(series.points[i - 1]), file_of(point));
    }
    series.changes = change_points(times, static_cast<std::size_t>(tests), margin);
  }
}

/// The histories of all cases and rows, also of those that only one file has.
[[nodiscard]] inline histories all_histories(std::span<const file_of_date> files,
                                             const options& chosen, double margin) {
  histories all;
  series_places places;
  for (const file_of_date& one : files) {
    timings measured;
    measured.add(*one.file);
    add_steps(one, chosen, measured, all.steps);
    add_layers(one, measured, places, all.layers);
  }
  finish(all.steps, files, margin);
  finish(all.layers, files, margin);
  return all;
}

/// Fields other than versions and drivers in which files differ from the one before. Throws
/// bad_input unless forced.
[[nodiscard]] inline std::vector<std::string> other_differences(std::span<const file_of_date> files,
                                                                bool force) {
  std::set<std::string> all;
  for (std::size_t i = 1; i < files.size(); ++i) {
    const result::results& before = *files[i - 1].file;
    const result::results& now = *files[i].file;
    std::vector<std::string> fields = result::differing_context(before, now);
    std::erase_if(fields, [&](const std::string& field) {
      const field_dimension of = result::dimension_of(field, before, now);
      return of == field_dimension::version || of == field_dimension::driver;
    });
    if (!fields.empty() && !force) {
      throw bad_input(now.file, "/context",
                      fmt::format("differs from {}, the file before it, not only in versions and "
                                  "drivers, but in: {}; compare anyway with --force",
                                  before.file, result::both_values(before, now, fields)));
    }
    all.insert(fields.begin(), fields.end());
  }
  return {all.begin(), all.end()};
}

}  // namespace detail

LAYERBENCH_INLINE histories history(std::span<const result::results> files, const options& chosen,
                                    double margin) {
  histories all = detail::all_histories(detail::by_date(files), chosen, margin);
  const auto is_single = [](const time_series& of) {
    return of.points.empty() || of.points.front().when == of.points.back().when;
  };
  std::erase_if(all.steps, [&](const step_series& of) { return of.left_out || is_single(of); });
  std::erase_if(all.layers, is_single);
  return all;
}

LAYERBENCH_INLINE date_comparison compare_dates(std::span<const result::results> files,
                                                const comparison_options& chosen) {
  detail::require_rounds(group_of(files));
  for (const result::results& file : files) {
    if (instant(file.context_value("date").value_or(""))) continue;
    throw bad_input(file.file, "/context/date", "is missing or no date: its place is not known");
  }
  const std::vector<detail::file_of_date> ordered = detail::by_date(files);
  date_comparison all;
  for (const detail::file_of_date& one : ordered) {
    all.files.push_back({one.file->file, *one.file->context_value("date"),
                         detail::run_group({one.file}).disturbed});
  }
  all.file_notes = notes_of(group_of(files));
  all.forced = detail::other_differences(ordered, chosen.force);
  all.margin = chosen.margin;
  static_cast<histories&>(all) = detail::all_histories(ordered, {}, chosen.margin);
  std::erase_if(all.steps, [&](const step_series& of) {
    if (!of.is_long()) {
      all.left_out.push_back(
          {of.model_case, fmt::format("{} files have all of its layers; {} are needed",
                                      of.points.size(), min_history)});
    }
    return !of.is_long();
  });
  std::erase_if(all.layers, [&](const layer_series& of) {
    if (!of.is_long()) all.on_few_files.push_back(of.row);
    return !of.is_long();
  });
  return all;
}

LAYERBENCH_INLINE std::vector<named_change> named_changes(const histories& all) {
  std::vector<named_change> found;
  for (const step_series& of : all.steps) {
    for (const change_point& one : of.changes)
      found.push_back({&of, true, of.model_case.text(), &one});
  }
  for (const layer_series& of : all.layers) {
    for (const change_point& one : of.changes) found.push_back({&of, false, of.row.name, &one});
  }
  std::ranges::stable_sort(found, {}, [](const named_change& one) {
    return std::pair(!one.is_step, one.of->points[one.change->first].when);
  });
  return found;
}

}  // namespace layerbench::analysis
