// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/roofline.hpp>
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

  roofline_axes(const std::vector<roofline_point>& points, const analysis::peaks& of, double width);

  /// The radius of a layer that takes the whole step.
  [[nodiscard]] static double largest_radius(double width) { return 3 + width / 32; }

  /// The dot of a layer: its area is its share of the step.
  [[nodiscard]] circle dot_of(const roofline_point& of) const;

  /// The intensity at which the bandwidth of a level suffices for the peak.
  [[nodiscard]] double ridge(const analysis::memory_level& of) const;

  /// The roof of a level, up to the peak; nothing if it is left of the chart.
  [[nodiscard]] std::optional<segment> roof(const analysis::memory_level& of) const;

  /// The roof of the peak, from the leftmost ridge on.
  [[nodiscard]] segment peak_roof(const analysis::peaks& of) const;
};

}  // namespace detail

/// The layers by FLOPs per byte and per second, below the roofs of the device; nothing if no peaks
/// are known. The layers worth optimising have the number of their row in that table.
[[nodiscard]] markup roofline_chart(const analysis::prediction& p, const palette& ops);

}  // namespace layerbench::report::svg

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/roofline_chart-inl.hpp>
#endif
