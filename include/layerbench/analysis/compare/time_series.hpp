// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iomanip>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/predict/predictor.hpp>

/// How the predictions of a case went from date to date.
namespace layerbench::analysis {

/// The instant of a date such as "2026-01-02T03:04:05+00:00"; nothing for other texts.
[[nodiscard]] inline std::optional<std::chrono::sys_seconds> instant(const std::string& date) {
  using namespace std::chrono;
  std::tm at{};
  std::istringstream text(date);
  if (!(text >> std::get_time(&at, "%Y-%m-%dT%H:%M:%S"))) return std::nullopt;
  char sign = '+';
  char colon = ':';
  int ahead_hours = 0;
  int ahead_minutes = 0;
  text >> sign >> ahead_hours >> colon >> ahead_minutes;  // UTC where it does not say
  const auto ahead = hours(ahead_hours) + minutes(ahead_minutes);
  constexpr int first_year = 1900;
  const sys_days day = year(at.tm_year + first_year) / (at.tm_mon + 1) / at.tm_mday;
  return day + hours(at.tm_hour) + minutes(at.tm_min) + seconds(at.tm_sec) -
         (sign == '-' ? -ahead : ahead);
}

/// What one file alone predicts.
struct history_point {
  std::chrono::sys_seconds when;
  std::string date;  ///< as the file has it
  prediction predicted;
  std::vector<std::string> differing;  ///< fields of the context that differ from those before

  /// Whether rounds give the step a 95 % interval.
  [[nodiscard]] bool has_interval() const {
    return predicted.step->kind == interval_kind::bootstrap;
  }
};

/// How much longer the step is than `before`, relative to that.
[[nodiscard]] inline double change(const history_point& before, const history_point& now) {
  return now.predicted.step->seconds / before.predicted.step->seconds - 1;
}

/// Whether a step has changed: where both have an interval, and these do not overlap.
[[nodiscard]] inline bool changed(const history_point& before, const history_point& now) {
  const step_time& a = *before.predicted.step;
  const step_time& b = *now.predicted.step;
  return before.has_interval() && now.has_interval() && (a.high() < b.low() || b.high() < a.low());
}

/// A case on one device, by sums of timings of one cache state; whole steps alone, oldest first.
struct time_series {
  result::configuration_name configuration;
  std::int64_t threads;
  std::string device;
  std::string cache;
  std::vector<history_point> points;

  [[nodiscard]] bool contains(const prediction& p, const std::string& its_device) const {
    return configuration == p.configuration && threads == p.threads && device == its_device &&
           cache == p.cache;
  }
};

namespace detail {

/// Puts what `file` predicts into the courses of its cases, which are made as needed.
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
        all, [&](const time_series& series) { return series.contains(p, device); });
    time_series& its =
        same != all.end()
            ? *same
            : all.emplace_back(time_series{p.configuration, p.threads, device, p.cache, {}});
    its.points.push_back({*when, date, std::move(p), {}});
  }
}

}  // namespace detail

/// What each of `files` alone predicts for the cases of its manifest, where files of several dates
/// hold the same case; files that do not say their date are left out.
[[nodiscard]] inline std::vector<time_series> history(std::span<const result::results> files,
                                                      const options& chosen = {}) {
  std::vector<time_series> all;
  for (const result::results& file : files) detail::add_file(file, chosen, all);
  const auto file_of = [&](const history_point& point) -> const result::results& {
    return *std::ranges::find(files, point.predicted.files.front(), &result::results::file);
  };
  for (time_series& item : all) {
    std::vector<history_point>& points = item.points;
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
