// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/report/svg.hpp>

/// The chart of a time over dates.
namespace layerbench::report::svg {

namespace detail {

inline constexpr double mark_radius = 6;  ///< of a point, at most

/// Horizontal lines at the least, middle and largest time, with milliseconds beside them.
[[nodiscard]] inline markup time_axis(const scale& y, double left, double right) {
  markup drawn;
  for (const double part : {0.0, 0.5, 1.0}) {
    const double seconds = y.low + part * (y.high - y.low);
    const double at = y(seconds);
    drawn += path(fmt::format("M{:.1f} {:.1f}H{:.1f}", left, at, right), "axis");
    drawn += label(left - 6, at + 4, format::milliseconds(seconds), "end", "faint");
  }
  return drawn;
}

/// The interval of a point; its time alone where it has none.
[[nodiscard]] inline stats::interval bounds(const analysis::history_point& of) {
  return of.between.value_or(stats::interval{of.time.seconds, of.time.seconds});
}

/// From slightly below the least to slightly above the largest bound.
[[nodiscard]] inline scale time_scale(const analysis::time_series& of, double bottom, double top) {
  stats::interval all = bounds(of.points.front());
  for (const analysis::history_point& point : of.points) {
    all.low = std::min(all.low, bounds(point).low);
    all.high = std::max(all.high, bounds(point).high);
  }
  const auto [low, high] = all;
  const double margin = 0.05 * (high > low ? high - low : high);
  return {low - margin, high + margin, bottom, top};
}

/// The labels of the dates: days, or hours if all are of one day.
[[nodiscard]] inline std::vector<std::string> date_labels(const analysis::time_series& of) {
  constexpr std::size_t day = 10;  // characters
  constexpr std::size_t minute = 16;
  std::vector<std::string> days;
  std::vector<std::string> hours;
  for (const analysis::history_point& point : of.points) {
    days.push_back(point.date.substr(0, day));
    if (point.date.size() >= minute) hours.push_back(point.date.substr(day + 1, minute - day - 1));
  }
  return days.front() == days.back() && hours.size() == days.size() ? hours : days;
}

/// The labels below the chart; only the first and the last if there is no room for all.
[[nodiscard]] inline markup date_axis(const analysis::time_series& of, const scale& x,
                                      double base) {
  constexpr double gap = 10;
  const std::vector<std::string> labels = date_labels(of);
  const std::size_t last = labels.size() - 1;
  const double room = x(1) - x(0);
  const bool all_fit = std::ranges::all_of(
      labels, [&](const std::string& text) { return label_width(text) + gap <= room; });
  markup drawn;
  for (std::size_t i = 0; i <= last; ++i) {
    if (all_fit) {
      drawn += label(x(static_cast<double>(i)), base, labels[i], "middle", "faint");
    } else if (i == 0 || i == last) {
      drawn += label(i == 0 ? x.from : x.to, base, labels[i], i == 0 ? "start" : "end", "faint");
    }
  }
  return drawn;
}

/// How much the changed points have changed, beside them. The table has those without room.
[[nodiscard]] inline markup change_labels(const analysis::time_series& of,
                                          const std::vector<point>& points, label_layout& layout) {
  markup drawn;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const std::optional<double> change = of.change_at(i);
    if (!change) continue;
    const std::string text = format::signed_percent(change);
    const auto place = layout.place_beside(text, {points[i], mark_radius});
    if (!place) continue;
    if (place->leader) drawn += line(*place->leader, "leader");
    drawn += label(place->start, text);
  }
  return drawn;
}

/// Horizontal lines at the mean times before, between and after the changes.
[[nodiscard]] inline markup levels(const analysis::time_series& of, const scale& x, const scale& y,
                                   label_layout& layout) {
  markup drawn;
  const auto add = [&](std::size_t first, std::size_t end, double seconds) {
    const segment level{{x(static_cast<double>(first) - 0.5), y(seconds)},
                        {x(static_cast<double>(end) - 0.5), y(seconds)}};
    layout.add(level);
    drawn += line(level, "level");
  };
  std::size_t first = 0;
  for (const analysis::change_point& change : of.changes) {
    add(first, change.first, change.ratio.old_seconds);
    first = change.first;
  }
  if (first > 0) add(first, of.points.size(), of.changes.back().ratio.new_seconds);
  return drawn;
}

/// The chart at one width.
[[nodiscard]] inline drawing draw_history(const analysis::time_series& of, double width) {
  constexpr double left = 64;
  constexpr double top = 24;
  constexpr double bottom = 170;
  const scale y = time_scale(of, bottom, top);
  const scale x{-0.5, static_cast<double>(of.points.size()) - 0.5, left, width};
  label_layout layout({left, 0, width - left, bottom});
  markup marks;
  std::string steps;
  std::vector<point> points;
  for (std::size_t i = 0; i < of.points.size(); ++i) {
    const auto [low, high] = bounds(of.points[i]);
    const point at{x(static_cast<double>(i)), y(of.points[i].time.seconds)};
    steps += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", at.x, at.y);
    if (low < high) marks += vertical_whisker(at.x, y(low), y(high));
    marks += of.change_at(i)
                 ? path(fmt::format("M{:.1f} {:.1f}l6 6l-6 6l-6-6z", at.x, at.y - 6), "changed")
                 : dot(at.x, at.y, 4, "predicted");
    layout.add(circle{at, mark_radius});
    layout.add(segment{{at.x, y(low)}, {at.x, y(high)}});
    if (i > 0) layout.add(segment{points.back(), at});
    points.push_back(at);
  }
  marks = levels(of, x, y, layout) + marks;
  return {bottom + 26, time_axis(y, left, width) + date_axis(of, x, bottom + 18) +
                           path(steps, "trend") + marks + change_labels(of, points, layout)};
}

}  // namespace detail

/// A line of the time with one evenly spaced point per date; changes are marked.
[[nodiscard]] inline markup history_chart(const analysis::time_series& of) {
  return figure("ms by date",
                of.is_long()
                    ? "ms by date, with intervals; diamonds: the first run after a lasting "
                      "change; flat lines: mean times between changes"
                    : "ms by date, with intervals; diamonds: changed since the date "
                      "before, as the intervals do not overlap",
                [&](double width) { return detail::draw_history(of, width); });
}

}  // namespace layerbench::report::svg
