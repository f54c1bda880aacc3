// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <utility>

#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/base/compiled.hpp>
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

LAYERBENCH_INLINE bool history_point::has_confidence_interval() const {
  return predicted.step->kind == interval_method::bootstrap;
}

LAYERBENCH_INLINE bool changed(const history_point& before, const history_point& now) {
  const step_time& a = *before.predicted.step;
  const step_time& b = *now.predicted.step;
  return before.has_confidence_interval() && now.has_confidence_interval() &&
         (a.high() < b.low() || b.high() < a.low());
}

LAYERBENCH_INLINE bool time_series::contains(const prediction& p,
                                             const std::string& its_device) const {
  return model_case == p.model_case && threads == p.threads && device == its_device &&
         cache == p.cache;
}

namespace detail {

/// Adds the predictions from `file` to the series of their cases, which are created as needed.
inline void add_file(const result::results& file, const options& chosen,
                     std::vector<time_series>& all) {
  const std::string date = file.context_value("date").value_or("");
  const auto when = instant(date);
  if (!when || file.manifest.empty()) return;
  const std::string device = file.device();
  const group alone{&file};
  timings measured;
  measured.add(file);
  for (const planned_case& planned : planned_cases(alone)) {
    prediction p = predict_case(planned, measured, alone, chosen);
    if (!p.step || p.partial()) continue;
    const auto same = std::ranges::find_if(
        all, [&](const time_series& known) { return known.contains(p, device); });
    time_series& series =
        same != all.end()
            ? *same
            : all.emplace_back(time_series{p.model_case, p.threads, device, p.cache, {}});
    series.points.push_back({*when, date, std::move(p), {}});
  }
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<time_series> history(std::span<const result::results> files,
                                                   const options& chosen) {
  std::vector<time_series> all;
  for (const result::results& file : files) detail::add_file(file, chosen, all);
  const auto file_of = [&](const history_point& point) -> const result::results& {
    return *std::ranges::find(files, point.predicted.files.front(), &result::results::file);
  };
  for (time_series& series : all) {
    std::vector<history_point>& points = series.points;
    std::ranges::stable_sort(points, {}, &history_point::when);
    for (std::size_t i = 1; i < points.size(); ++i) {
      points[i].differing = result::differing_context(file_of(points[i - 1]), file_of(points[i]));
    }
  }
  std::erase_if(all, [](const time_series& series) {
    return series.points.front().when == series.points.back().when;
  });
  return all;
}

}  // namespace layerbench::analysis
