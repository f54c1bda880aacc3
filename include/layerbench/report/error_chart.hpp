// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/predict/validation_text.hpp>
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
  constexpr int most = 4;  // lines on each side of 0
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

[[nodiscard]] inline markup error_row(const analysis::validated& of, const scale& x, double top) {
  const double base = top + 16;
  const double middle = top + 30;
  const auto naive = of.naive_error();
  std::string errors = format::signed_percent(of.error());
  if (naive) errors += fmt::format(" (naive {})", format::signed_percent(naive));
  if (of.disturbed()) errors += ", disturbed";
  markup drawn = label(x.from, base, shortened(analysis::headline(of.predicted), 56));
  drawn += label(x.to, base, errors, "end");
  const auto [low, high] = error_interval(of);
  drawn += whisker(x(low), x(high), middle);
  if (naive) drawn += dot(x(*naive), middle, 6, "naive");
  return drawn + dot(x(of.error()), middle, 4, "predicted");
}

}  // namespace detail

/// One row per case: the signed error with its interval, and the error of the naive hot sum.
[[nodiscard]] inline markup error_chart(const analysis::validation& all) {
  constexpr double row = 44;
  constexpr double margin = 24;
  constexpr double good = 0.02;
  const double reach = 1.02 * detail::largest_error(all);
  const scale x{-reach, reach, margin, drawing_width - margin};
  const double bottom = row * static_cast<double>(all.cases.size()) + 8;
  markup drawn = rectangle({x(-good), 0, x(good) - x(-good), bottom}, "band");
  drawn += detail::error_axis(x, bottom);
  double top = 0;
  for (const analysis::validated& entry : all.cases) {
    drawn += detail::error_row(entry, x, top);
    top += row;
  }
  return figure(bottom + 24, "Errors of the predictions, as in the table below",
                "Filled dots: error of the prediction, with its interval; hollow dots: error of "
                "the naive hot sum; shaded: within +-2 % of the measured step",
                drawn);
}

}  // namespace layerbench::report::svg
