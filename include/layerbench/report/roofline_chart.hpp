// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/roofline.hpp>
#include <layerbench/analysis/roofline/bottlenecks.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/label_layout.hpp>
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

/// The axes of the chart, in logarithms, with FLOP/s upwards.
struct roofline_axes {
  scale x;
  scale y;
  double peak;  ///< FLOP/s

  roofline_axes(const std::vector<roofline_point>& points, const analysis::peaks& of, double width)
      : x{0, 0, 56, width - 8}, y{0, 0, 300, 8}, peak(std::log10(of.flops)) {
    const double inset = 8 + largest_radius(width);  // the largest dots stay inside
    const auto [left, right] = std::ranges::minmax(points, {}, &roofline_point::x);
    const auto [low, high] = std::ranges::minmax(points, {}, &roofline_point::y);
    x.low = left.x;
    x.high = std::max({right.x, ridge(of.levels.back()), left.x + 1});
    y.low = std::min(low.y, peak - 1);
    y.high = std::max(high.y, peak);
    x = x.padded(inset);
    y = y.padded(inset);
  }

  /// The radius of a layer that takes the whole step.
  [[nodiscard]] static double largest_radius(double width) { return 3 + width / 32; }

  /// The dot of a layer: its area is its share of the step.
  [[nodiscard]] circle dot_of(const roofline_point& of) const {
    constexpr double smallest = 3;
    const double width = x.to + 8;
    const double radius =
        smallest + (largest_radius(width) - smallest) * std::sqrt(of.layer->share);
    return {{x(of.x), y(of.y)}, radius};
  }

  /// The intensity at which the bandwidth of a level suffices for the peak.
  [[nodiscard]] double ridge(const analysis::memory_level& of) const {
    return peak - std::log10(of.read);
  }

  /// The roof of a level, up to the peak; nothing if it is left of the chart.
  [[nodiscard]] std::optional<segment> roof(const analysis::memory_level& of) const {
    const double bandwidth = std::log10(of.read);
    const double start = std::max(x.low, y.low - bandwidth);
    if (start >= ridge(of)) return std::nullopt;
    return segment{{x(start), y(start + bandwidth)}, {x(ridge(of)), y(peak)}};
  }

  /// The roof of the peak, from the leftmost ridge on.
  [[nodiscard]] segment peak_roof(const analysis::peaks& of) const {
    double reached = x.high;
    for (const analysis::memory_level& level : of.levels) {
      reached = std::min(reached, std::max(ridge(level), x.low));
    }
    return {{x(reached), y(peak)}, {x.to, y(peak)}};
  }
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

/// Lines at powers of ten, with their numbers.
[[nodiscard]] inline markup roofline_grid(const roofline_axes& in) {
  constexpr double broad = 56;  // room for a number
  constexpr double high = 16;
  constexpr double margin = 7;  // on the right
  const auto power = [](int exponent) { return fmt::format("{:g}", std::pow(10, exponent)); };
  markup drawn;
  const auto first = [](const scale& of) { return static_cast<int>(std::ceil(of.low)); };
  const auto stride = [](const scale& of, double room) {
    return std::max(1, static_cast<int>(std::ceil(room / std::abs(of(1) - of(0)))));
  };
  for (int i = first(in.x); i <= in.x.high; ++i) {
    drawn += path(fmt::format("M{:.1f} {:.1f}V{:.1f}", in.x(i), in.y.to, in.y.from), "axis");
    if (i % stride(in.x, broad) != 0) continue;
    const double last = in.x.to + margin - label_width(power(i)) / 2;
    drawn += label(std::min(in.x(i), last), in.y.from + 16, power(i), "middle", "faint");
  }
  for (int i = first(in.y); i <= in.y.high; ++i) {
    drawn += path(fmt::format("M{:.1f} {:.1f}H{:.1f}", in.x.from, in.y(i), in.x.to), "axis");
    if (i % stride(in.y, high) == 0)
      drawn += label(in.x.from - 6, in.y(i) + 4, power(i - 9), "end", "faint");
  }
  return drawn + label(in.x.to, in.y.from + 32, "FLOPs per byte, none on padding", "end", "faint") +
         label(2, in.y.from + 32, "GFLOP/s", "start", "faint");
}

/// Starts of a text's base line along a roof, from its lower end: below the line on its right, or
/// above it on its left.
[[nodiscard]] inline std::vector<point> along(const segment& roof, std::string_view text) {
  constexpr int places = 24;
  constexpr double gap = 5;
  std::vector<point> starts;
  for (int i = 0; i < places; ++i) {
    const double part = (i + 0.5) / places;
    const point at{roof.from.x + part * (roof.to.x - roof.from.x),
                   roof.from.y + part * (roof.to.y - roof.from.y)};
    starts.push_back({at.x + gap, at.y + label_size::ascent + gap});
    starts.push_back({at.x - gap - label_width(text), at.y - gap});
  }
  return starts;
}

/// The same along the peak, from its right end: above the line, or below it.
[[nodiscard]] inline std::vector<point> along_peak(const segment& roof, std::string_view text) {
  constexpr double step = 12;
  constexpr double gap = 4;
  std::vector<point> starts;
  for (const double y : {roof.from.y - gap, roof.from.y + gap + label_size::ascent}) {
    double x = roof.to.x - label_width(text) - 1;
    while (x >= roof.from.x) starts.push_back({std::exchange(x, x - step), y});
  }
  return starts;
}

/// The peak, and the read bandwidth of each level below it, as lines with their numbers.
[[nodiscard]] inline markup roofline_roofs(const roofline_axes& in, const analysis::peaks& of,
                                           label_layout& layout) {
  markup drawn;
  markup texts;
  const segment peak = in.peak_roof(of);
  drawn += line(peak, "trend");
  layout.add(peak);
  for (const analysis::memory_level& level : of.levels) {
    if (const auto roof = in.roof(level)) {
      drawn += line(*roof, "trend");
      layout.add(*roof);
    }
  }
  const auto add = [&](const std::string& text, const std::vector<point>& starts) {
    if (const auto start = layout.place(text, starts)) texts += label(*start, text);
  };
  const std::string rate = fmt::format("{} GFLOP/s", analysis::giga(of.flops));
  add(rate, along_peak(peak, rate));
  for (const analysis::memory_level& level : of.levels) {
    const std::string text = fmt::format("{} {} GB/s", level.name, analysis::giga(level.read));
    if (const auto roof = in.roof(level)) add(text, along(*roof, text));
  }
  return drawn + texts;
}

/// A dot, with a description as its tooltip.
[[nodiscard]] inline markup roofline_dot(const roofline_point& of, const circle& at,
                                         const palette& ops) {
  const analysis::layer_time& layer = *of.layer;
  const std::string tooltip =
      fmt::format("{}: {} of the step, {} GFLOP/s, {} of peak, {}", layer.call_name(),
                  format::percent(layer.share), analysis::gigaflops(layer),
                  analysis::percent_of_peak(layer), analysis::bound_of(layer));
  return element("circle", element("title", escaped(tooltip)),
                 {{"class", "bar"},
                  {"cx", length(at.centre.x)},
                  {"cy", length(at.centre.y)},
                  {"r", length(at.radius)},
                  {"fill", ops.fill(layer.op)}});
}

/// The numbers of the layers that have a row in the table of what is worth optimising.
[[nodiscard]] inline markup roofline_numbers(const analysis::prediction& p,
                                             const std::vector<roofline_point>& points,
                                             const roofline_axes& in, label_layout& layout) {
  markup drawn;
  const std::vector<analysis::layer_time> worth = analysis::worth_optimising(p);
  for (std::size_t i = 0; i < worth.size(); ++i) {
    const auto same = std::ranges::find_if(points, [&](const roofline_point& point) {
      return worth[i].call_name() == point.layer->call_name() && worth[i].part == point.layer->part;
    });
    if (same == points.end()) continue;
    const std::string number = std::to_string(i + 1);
    const auto place = layout.place_beside(number, in.dot_of(*same));
    if (!place) continue;
    if (place->leader) drawn += line(*place->leader, "leader");
    drawn += label(place->start, number);
  }
  return drawn;
}

/// The chart at one width.
[[nodiscard]] inline drawing draw_roofline(const analysis::prediction& p,
                                           const std::vector<roofline_point>& points,
                                           const palette& ops, double width) {
  const roofline_axes in(points, *p.limits, width);
  label_layout layout({in.x.from, in.y.to, in.x.to - in.x.from, in.y.from - in.y.to});
  markup dots;
  for (const roofline_point& point : points) {
    const circle at = in.dot_of(point);
    layout.add(at);
    dots += roofline_dot(point, at, ops);
  }
  const markup roofs = roofline_roofs(in, *p.limits, layout);
  return {in.y.from + 38,
          roofline_grid(in) + dots + roofs + roofline_numbers(p, points, in, layout)};
}

}  // namespace detail

/// The layers by FLOPs per byte and per second, below the roofs of the device; nothing if no peaks
/// are known. The layers worth optimising have the number of their row in that table.
[[nodiscard]] inline markup roofline_chart(const analysis::prediction& p, const palette& ops) {
  const std::vector<detail::roofline_point> points = detail::roofline_points(p);
  if (!p.limits || points.empty()) return {};
  return figure("Layers under the roofs of the machine, as in the tables below",
                fmt::format("One dot per layer: its area is its share of the step, its fill the "
                            "kind of op. Numbers are rows of the table of what is worth "
                            "optimising. Lines are the peaks of the machine. {} of {} layers "
                            "compute nothing, or it is not known what they move: they have no dot",
                            p.layers.size() - points.size(), p.layers.size()),
                [&](double width) { return detail::draw_roofline(p, points, ops, width); });
}

}  // namespace layerbench::report::svg
