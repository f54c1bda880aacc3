// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/report/svg.hpp>

/// The chart of a step's time over dates.
namespace layerbench::report::svg {

namespace detail {

/// Horizontal lines at the least, middle and largest time, with milliseconds beside them.
[[nodiscard]] inline markup time_axis(const scale& y, double left) {
  markup drawn;
  for (const double part : {0.0, 0.5, 1.0}) {
    const double seconds = y.low + part * (y.high - y.low);
    const double at = y(seconds);
    drawn += path(fmt::format("M{:.1f} {:.1f}H{:.1f}", left, at, drawing_width), "axis");
    drawn += label(left - 6, at + 4, format::milliseconds(seconds), "end", "faint");
  }
  return drawn;
}

/// From slightly below the least to slightly above the largest bound.
[[nodiscard]] inline scale time_scale(const analysis::time_series& of, double bottom, double top) {
  double low = of.points.front().predicted.step->low();
  double high = of.points.front().predicted.step->high();
  for (const analysis::history_point& point : of.points) {
    low = std::min(low, point.predicted.step->low());
    high = std::max(high, point.predicted.step->high());
  }
  const double margin = 0.05 * (high > low ? high - low : high);
  return {low - margin, high + margin, bottom, top};
}

/// The mark of point `i` at (x, y): a dot, or a diamond if the step has changed.
[[nodiscard]] inline markup mark(const analysis::time_series& of, std::size_t i, double x,
                                 double y) {
  if (i == 0 || !analysis::changed(of.points[i - 1], of.points[i]))
    return dot(x, y, 4, "predicted");
  const std::string change =
      format::signed_percent(analysis::change(of.points[i - 1], of.points[i]));
  const bool at_edge = x + 9 + label_width(change) > drawing_width;
  return path(fmt::format("M{:.1f} {:.1f}l6 6l-6 6l-6-6z", x, y - 6), "changed") +
         label(at_edge ? x - 9 : x + 9, y - 6, change, at_edge ? "end" : "start");
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

/// The labels below the chart; only the first and the last if there are many.
[[nodiscard]] inline markup date_axis(const analysis::time_series& of, const scale& x,
                                      double base) {
  constexpr std::size_t most = 6;
  const std::vector<std::string> labels = date_labels(of);
  markup drawn;
  const std::size_t last = labels.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    if (last >= most && i != 0 && i != last) continue;
    const bool at_end = last >= most && i == last;
    drawn += label(at_end ? drawing_width : x(static_cast<double>(i)), base, labels[i],
                   at_end ? "end" : "middle", "faint");
  }
  return drawn;
}

}  // namespace detail

/// A line of the step's time with one evenly spaced point per date; changes are marked.
[[nodiscard]] inline markup history_chart(const analysis::time_series& of) {
  constexpr double left = 64;
  constexpr double top = 20;
  constexpr double bottom = 150;
  const scale y = detail::time_scale(of, bottom, top);
  const scale x{-0.5, static_cast<double>(of.points.size()) - 0.5, left, drawing_width};
  markup marks;
  std::string steps;
  for (std::size_t i = 0; i < of.points.size(); ++i) {
    const analysis::step_time& step = *of.points[i].predicted.step;
    const double at = x(static_cast<double>(i));
    steps += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", at, y(step.seconds));
    if (step.low() < step.high()) marks += vertical_whisker(at, y(step.low()), y(step.high()));
    marks += detail::mark(of, i, at, y(step.seconds));
  }
  return figure(bottom + 26, "ms per step by date, as in the table below",
                "ms per step by date, with intervals; diamonds: changed since the date before, as "
                "the intervals do not overlap",
                detail::time_axis(y, left) + detail::date_axis(of, x, bottom + 18) +
                    path(steps, "trend") + marks);
}

}  // namespace layerbench::report::svg
