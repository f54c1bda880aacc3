// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/roofline/bounds.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/report/svg.hpp>

/// The roofline chart: each layer below the peaks of the device.
namespace layerbench::report::svg {

namespace detail {

/// A layer at the logarithms of its FLOPs per byte and per second.
struct roofline_point {
  const analysis::layer_time* layer;
  double x;
  double y;
};

/// The layers with FLOPs and known traffic. The heaviest come first, so that their large dots do
/// not cover the others.
[[nodiscard]] inline std::vector<roofline_point> roofline_points(const analysis::prediction& p) {
  std::vector<roofline_point> all;
  for (const analysis::layer_time& layer : p.layers) {
    const double intensity = analysis::arithmetic_intensity(layer).value_or(0);
    if (intensity <= 0) continue;
    all.push_back({&layer, std::log10(intensity), std::log10(*layer.flops / layer.seconds)});
  }
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const roofline_point& point) { return point.layer->share; });
  return all;
}

/// The axes of the chart, in logarithms, with FLOP/s upwards.
struct roofline_axes {
  scale x;
  scale y;
  double peak;  ///< FLOP/s

  roofline_axes(const std::vector<roofline_point>& points, const analysis::peaks& of)
      : x{0, 0, 56, drawing_width - 8}, y{0, 0, 300, 8}, peak(std::log10(of.flops)) {
    constexpr double room = 0.2;
    const auto [left, right] = std::ranges::minmax(points, {}, &roofline_point::x);
    const auto [low, high] = std::ranges::minmax(points, {}, &roofline_point::y);
    x.low = left.x - room;
    x.high = std::max(right.x, ridge(of.levels.back()) + room) + room;
    y.low = std::min(low.y, peak - 1) - room;
    y.high = std::max(high.y, peak) + room;
  }

  /// The intensity at which the bandwidth of a level suffices for the peak.
  [[nodiscard]] double ridge(const analysis::memory_level& of) const {
    return peak - std::log10(of.read);
  }
};

/// Lines at powers of ten, with their numbers.
[[nodiscard]] inline markup roofline_grid(const roofline_axes& in) {
  const auto power = [](int exponent) { return fmt::format("{:g}", std::pow(10, exponent)); };
  markup drawn;
  const auto first = [](const scale& of) { return static_cast<int>(std::ceil(of.low)); };
  for (int i = first(in.x); i <= in.x.high; ++i) {
    drawn += path(fmt::format("M{:.1f} {:.1f}V{:.1f}", in.x(i), in.y.to, in.y.from), "axis");
    drawn += label(in.x(i), in.y.from + 16, power(i), "middle", "faint");
  }
  for (int i = first(in.y); i <= in.y.high; ++i) {
    drawn += path(fmt::format("M{:.1f} {:.1f}H{:.1f}", in.x.from, in.y(i), in.x.to), "axis");
    drawn += label(in.x.from - 6, in.y(i) + 4, power(i - 9), "end", "faint");
  }
  return drawn + label(in.x.to, in.y.from + 32, "FLOPs a byte, none on padding", "end", "faint") +
         label(2, in.y.from + 32, "GFLOP/s", "start", "faint");
}

/// The peak, and the read bandwidth of each level below it.
[[nodiscard]] inline markup roofline_roofs(const roofline_axes& in, const analysis::peaks& of) {
  markup drawn;
  double reached = in.x.high;
  for (const analysis::memory_level& level : of.levels) {
    const double bandwidth = std::log10(level.read);
    const double ridge = in.ridge(level);
    const double start = std::max(in.x.low, in.y.low - bandwidth);
    reached = std::min(reached, std::max(ridge, in.x.low));
    if (start >= ridge) continue;
    drawn += path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", in.x(start), in.y(start + bandwidth),
                              in.x(ridge), in.y(in.peak)),
                  "trend");
    drawn += label(in.x(start) + 8, in.y(start + bandwidth) - 4,
                   fmt::format("{} {} GB/s", level.name, analysis::giga(level.read)));
  }
  drawn +=
      path(fmt::format("M{:.1f} {:.1f}H{:.1f}", in.x(reached), in.y(in.peak), in.x.to), "trend");
  return drawn + label(in.x.to, in.y(in.peak) - 5,
                       fmt::format("{} GFLOP/s", analysis::giga(of.flops)), "end");
}

/// A dot with an area by the layer's share of the step, and a description as its tooltip.
[[nodiscard]] inline markup roofline_dot(const roofline_point& of, const roofline_axes& in,
                                         const palette& ops) {
  const analysis::layer_time& layer = *of.layer;
  const double radius = 3 + 20 * std::sqrt(layer.share);
  const std::string tooltip =
      fmt::format("{}: {} of the step, {} GFLOP/s, {} of peak, {}", layer.call_name(),
                  format::percent(layer.share), analysis::gigaflops(layer),
                  analysis::percent_of_peak(layer), analysis::bound_of(layer));
  return element("circle", element("title", escaped(tooltip)),
                 {{"class", "bar"},
                  {"cx", length(in.x(of.x))},
                  {"cy", length(in.y(of.y))},
                  {"r", length(radius)},
                  {"fill", ops.fill(layer.op)}});
}

}  // namespace detail

/// The layers by FLOPs per byte and per second, below the roofs of the device; nothing if no peaks
/// are known. The layers worth optimising have the number of their row in that table.
[[nodiscard]] inline markup roofline_chart(const analysis::prediction& p, const palette& ops) {
  const std::vector<detail::roofline_point> points = detail::roofline_points(p);
  if (!p.limits || points.empty()) return {};
  const detail::roofline_axes in(points, *p.limits);
  markup drawn = detail::roofline_grid(in);
  markup numbers;
  const std::vector<analysis::layer_time> worth = analysis::worth_optimising(p);
  for (const detail::roofline_point& point : points) {
    drawn += detail::roofline_dot(point, in, ops);
    const auto same = std::ranges::find_if(worth, [&](const analysis::layer_time& other) {
      return other.call_name() == point.layer->call_name() && other.part == point.layer->part;
    });
    if (same == worth.end()) continue;
    numbers += label(in.x(point.x) + 5 + 20 * std::sqrt(point.layer->share), in.y(point.y) + 4,
                     std::to_string(same - worth.begin() + 1));
  }
  drawn += detail::roofline_roofs(in, *p.limits) + numbers;
  return figure(in.y.from + 38, "Layers under the roofs of the machine, as in the tables below",
                fmt::format("A dot a layer, its area by its share of the step, filled by kind of "
                            "op; numbered by the rows of the table of what is worth optimising; "
                            "lines: what the machine attains. {} of {} layers compute nothing, or "
                            "it is not known what they move, and are not drawn",
                            p.layers.size() - points.size(), p.layers.size()),
                drawn);
}

}  // namespace layerbench::report::svg
