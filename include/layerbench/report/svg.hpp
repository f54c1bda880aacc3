// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/label_layout.hpp>

/// Elements of charts. Lengths are in CSS pixels as long as a drawing is not scaled.
namespace layerbench::report::svg {

[[nodiscard]] inline std::string length(double value) { return fmt::format("{:.1f}", value); }

/// A linear map from values to positions.
struct scale {
  double low;   ///< the value at `from`
  double high;  ///< the value at `to`, above `low`
  double from;
  double to;

  [[nodiscard]] double operator()(double value) const;

  /// The same positions for more values: those between `low` and `high` are `inset` away from both
  /// ends.
  [[nodiscard]] scale padded(double inset) const;
};

[[nodiscard]] markup rectangle(const box& at, const std::string& style,
                               const std::string& fill = {});

[[nodiscard]] markup path(const std::string& steps, const std::string& style);

[[nodiscard]] markup dot(double x, double y, double radius, const std::string& style);

/// A horizontal line from `low` to `high` with end marks.
[[nodiscard]] markup whisker(double low, double high, double y);

[[nodiscard]] markup vertical_whisker(double x, double low, double high);

/// `text` with its `anchor` (start, middle, end) at x and its base line at y.
[[nodiscard]] markup label(double x, double y, std::string_view text,
                           const std::string& anchor = "start", const std::string& style = "plain");

/// The text at the place that a layout has found.
[[nodiscard]] inline markup label(const point& start, std::string_view text) {
  return label(start.x, start.y, text);
}

[[nodiscard]] markup line(const segment& of, const std::string& style);

/// A chart at one width.
struct drawing {
  double height;
  markup inner;
};

/// A chart at two widths, of which the style sheet shows the one that fits the screen: text keeps
/// its size, and labels their places. `draw(width)` returns a drawing. `title` is the description
/// for screen readers.
template <class Draw>
[[nodiscard]] markup figure(const std::string& title, const std::string& caption, Draw&& draw) {
  constexpr double broad = 640;
  constexpr double narrow = 352;  // a screen of 400 without margins
  markup content;
  for (const double width : {broad, narrow}) {
    const drawing of = draw(width);
    content += element("svg", element("title", escaped(title)) + of.inner,
                       {{"class", width == broad ? "broad" : "narrow"},
                        {"role", "img"},
                        {"viewBox", fmt::format("0 0 {} {}", width, length(of.height))}});
  }
  if (!caption.empty()) content += element("figcaption", escaped(caption));
  return element("figure", content);
}

/// A bar as wide as its container, divided into shares.
[[nodiscard]] markup bar(const std::string& title,
                         const std::vector<std::pair<std::string, double>>& fills);

/// A colour and a hatching for each op, the same on all pages.
class palette {
 public:
  /// The ops of these predictions.
  explicit palette(std::span<const analysis::prediction> all) : ops_(analysis::ops_by_share(all)) {}

  [[nodiscard]] std::string fill(const std::string& op) const;

  /// The sample shown beside an op's name.
  [[nodiscard]] markup swatch(const std::string& op) const;

  /// A bar in a table's cell, as long as `share` of the cell's room for it.
  [[nodiscard]] markup cell_bar(const std::string& op, double share) const;

  /// The patterns that the fills refer to; a page contains them once.
  [[nodiscard]] markup definitions() const;

 private:
  /// The number of an op's pattern, by its name alone. The eight that take most time in common
  /// models have colours of their own.
  [[nodiscard]] static std::size_t kind(std::string_view op);

  /// The colours of Okabe and Ito (Color Universal Design, 2008), which colour-blind readers can
  /// tell apart. Grey replaces black, which is invisible on a dark page.
  static constexpr std::array<std::string_view, 8> colours{
      "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"};
  /// Lines on a tile of 8 by 8: none, two slopes, dots, level, upright, both, crossed.
  static constexpr std::array<std::string_view, 8> hatchings{"",
                                                             "M-1 1L1 -1M0 8L8 0M7 9L9 7",
                                                             "M3 4h2",
                                                             "M0 4H8",
                                                             "M-1 7L1 9M0 0L8 8M7 -1L9 1",
                                                             "M4 0V8",
                                                             "M0 4H8M4 0V8",
                                                             "M0 0L8 8M0 8L8 0"};

  /// Beyond eight ops the colours repeat with other hatchings.
  [[nodiscard]] static markup pattern(std::size_t i);

  std::vector<std::string> ops_;
};

}  // namespace layerbench::report::svg

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/svg-inl.hpp>
#endif
