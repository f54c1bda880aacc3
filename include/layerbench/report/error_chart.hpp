// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/label_layout.hpp>
#include <layerbench/report/svg.hpp>

/// The chart of prediction errors.
namespace layerbench::report::svg {

namespace detail {

/// The prediction's interval, relative to the measured time.
[[nodiscard]] inline stats::interval error_interval(const analysis::validated& of) {
  const analysis::step_time& step = *of.predicted.step;
  return {step.low() / of.measured.seconds - 1, step.high() / of.measured.seconds - 1};
}

/// The largest error that is drawn, whatever its sign.
[[nodiscard]] inline double largest_error(const analysis::validation& all) {
  double largest = 0.03;
  for (const analysis::validated& entry : all.cases) {
    const auto [low, high] = error_interval(entry);
    largest = std::max(
        {largest, std::abs(low), std::abs(high), std::abs(entry.naive_error().value_or(0))});
  }
  return largest;
}

/// Vertical lines at round errors, with their numbers below.
[[nodiscard]] inline markup error_axis(const scale& x, double bottom) {
  constexpr double room = 56;                                                 // for a number
  const double most = std::max(1.0, std::floor((x.to - x.from) / 2 / room));  // on each side of 0
  double step = 0.01;
  for (int i = 0; x.high / step > most; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  markup drawn;
  const int lines = static_cast<int>(x.high / step);
  for (int i = -lines; i <= lines; ++i) {
    const double at = x(i * step);
    drawn += path(fmt::format("M{:.1f} 0V{:.1f}", at, bottom), i == 0 ? "zero" : "axis");
    const std::string text = i == 0 ? "0 %" : fmt::format("{:+.0f} %", 100 * i * step);
    drawn += label(at, bottom + 16, text, "middle", "faint");
  }
  return drawn;
}

/// "+18.0 % (naive -12.0 %), disturbed"
[[nodiscard]] inline std::string error_text(const analysis::validated& of) {
  std::string text = of.error_text(of.predicted.step->seconds);
  if (const auto naive = of.predicted.hot_sum_seconds) {
    text += fmt::format(" (naive {})", of.error_text(naive));
  }
  return of.disturbed() ? text + ", disturbed" : text;
}

/// The errors of a case, with their points on one line.
[[nodiscard]] inline markup error_points(const analysis::validated& of, const scale& x, double y) {
  const auto [low, high] = error_interval(of);
  markup drawn;
  if (low < high) drawn += whisker(x(low), x(high), y);
  if (const auto naive = of.naive_error()) drawn += dot(x(*naive), y, 6, "naive");
  return drawn + dot(x(of.error()), y, 4, "predicted");
}

/// The names of the cases; all without what they share.
[[nodiscard]] inline std::vector<std::string> error_names(const analysis::validation& all) {
  std::vector<const analysis::prediction*> cases;
  for (const analysis::validated& entry : all.cases) cases.push_back(&entry.predicted);
  return analysis::headlines_of(cases).own;
}

/// The chart at one width. A case has lines of text above its points: its name and its errors,
/// side by side if there is room in all cases.
[[nodiscard]] inline drawing draw_errors(const analysis::validation& all, double width) {
  constexpr double margin = 24;
  constexpr double line = 16;
  constexpr double gap = 12;
  constexpr double good = 0.02;
  const std::vector<std::string> names = error_names(all);
  bool side_by_side = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double both = label_width(names[i]) + gap + label_width(error_text(all.cases[i]));
    side_by_side = side_by_side && both <= width - 2 * margin;
  }
  const auto most = static_cast<std::size_t>((width - margin) / label_size::character) - 1;
  const double reach = 1.02 * largest_error(all);
  const scale x{-reach, reach, margin, width - margin};
  const double text = side_by_side ? line : 2 * line;
  const double row = text + 28;
  const double bottom = row * static_cast<double>(names.size()) + 8;
  markup drawn = rectangle({x(-good), 0, x(good) - x(-good), bottom}, "band");
  drawn += error_axis(x, bottom);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double top = row * static_cast<double>(i);
    const std::string errors = error_text(all.cases[i]);
    drawn += label(margin, top + line, shortened(names[i], most));
    drawn += side_by_side ? label(x.to, top + line, errors, "end")
                          : label(margin, top + 2 * line, errors);
    drawn += error_points(all.cases[i], x, top + text + 14);
  }
  return {bottom + 24, drawn};
}

}  // namespace detail

/// One row per case: the signed error with its interval, and the error of the naive hot sum.
[[nodiscard]] inline markup error_chart(const analysis::validation& all) {
  return figure("Errors of the predictions, as in the table below",
                "Filled dots: error of the prediction, with its interval; hollow dots: error of "
                "the naive hot sum; shaded: within +-2 % of the measured step",
                [&](double width) { return detail::draw_errors(all, width); });
}

}  // namespace layerbench::report::svg
