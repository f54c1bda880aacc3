// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/analysis/curve/text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/report/svg.hpp>

/// The chart of throughput over the batch, or over the lengths of texts.
namespace layerbench::report::svg {

namespace detail {

/// The points of a chart: all, or about 300 at equal distances in octaves besides the measured
/// ones.
[[nodiscard]] inline std::vector<const analysis::curve_point*> drawn_points(
    const analysis::curve& of) {
  constexpr std::size_t most = 300;
  const double first = analysis::octave(of.points.front().size);
  const double octaves = analysis::octave(of.points.back().size) - first;
  const double apart = of.points.size() <= most ? 0 : octaves / static_cast<double>(most);
  std::vector<const analysis::curve_point*> drawn;
  double next = first;
  for (const analysis::curve_point& one : of.points) {
    const double at = analysis::octave(one.size);
    const bool at_end = &one == &of.points.back();
    if (at < next && !at_end && one.from != analysis::point_source::measured) continue;
    drawn.push_back(&one);
    next = at + apart;
  }
  return drawn;
}

/// The chart at one width: a line of the throughput in a band of its intervals, with dots at
/// measured sizes.
[[nodiscard]] inline drawing draw_curve(const analysis::curve& of, double width) {
  constexpr double left = 64;
  constexpr double inset = 16;
  constexpr double top = 16;
  constexpr double bottom = 170;
  constexpr double nearest = 36;  // between labels of sizes
  const double most = of.fastest()->per_second();
  const scale x{analysis::octave(of.points.front().size), analysis::octave(of.points.back().size),
                left + inset, width - inset};
  const scale y{0, 1.1 * most, bottom, top};
  std::string line;
  std::string upper;
  std::string lower;
  markup dots;
  markup labels;
  double labelled = 0;
  const std::vector<const analysis::curve_point*> drawn = drawn_points(of);
  for (const analysis::curve_point* point : drawn) {
    const analysis::curve_point& one = *point;
    const double at = x(analysis::octave(one.size));
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", at, y(one.per_second()));
    const double highest = std::min(one.items / std::max(one.low, 1e-30), y.high);
    upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", at, y(highest));
    if (one.from != analysis::point_source::measured) continue;
    dots += dot(at, y(one.per_second()), 4, "predicted");
    if (at < labelled + nearest) continue;
    labels += label(at, bottom + 18, std::to_string(one.size), "middle", "faint");
    labelled = at;
  }
  for (const analysis::curve_point* one : drawn | std::views::reverse) {
    lower +=
        fmt::format("L{:.1f} {:.1f}", x(analysis::octave(one->size)), y(one->items / one->high));
  }
  markup axis;
  for (const double part : {0.0, 0.5, 1.0}) {
    const double at = y(part * most);
    axis += path(fmt::format("M{:.1f} {:.1f}H{:.1f}", left, at, width), "axis");
    axis += label(left - 6, at + 4, part > 0 ? format::rate(part * most) : "0", "end", "faint");
  }
  return {bottom + 26,
          path(upper + lower + "z", "band") + axis + path(line, "trend") + dots + labels};
}

}  // namespace detail

/// A line of the throughput over the logarithm of the size.
[[nodiscard]] inline markup curve_chart(const analysis::curve& of) {
  const std::string unit = analysis::rate_unit(of);
  const std::string over(name(of.over));
  return figure(fmt::format("{} over {}, as in the table below", unit, over),
                fmt::format("{} over {} (logarithmic), with intervals; dots: measured", unit, over),
                [&](double width) { return detail::draw_curve(of, width); });
}

}  // namespace layerbench::report::svg
