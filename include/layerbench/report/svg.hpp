// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/breakdown.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/html.hpp>

/// Elements of charts. Lengths are in units of a drawing that is `drawing_width` wide.
namespace layerbench::report::svg {

inline constexpr double drawing_width = 640;

[[nodiscard]] inline std::string length(double value) { return fmt::format("{:.1f}", value); }

/// A linear map from values to positions.
struct scale {
  double low;   ///< the value at `from`
  double high;  ///< the value at `to`, above `low`
  double from;
  double to;

  [[nodiscard]] double operator()(double value) const {
    return from + (to - from) * (value - low) / (high - low);
  }
};

struct box {
  double x;
  double y;
  double width;
  double height;
};

[[nodiscard]] inline markup rectangle(const box& at, const std::string& style,
                                      const std::string& fill = {}) {
  std::vector<attribute> with{{"class", style},
                              {"x", length(at.x)},
                              {"y", length(at.y)},
                              {"width", length(at.width)},
                              {"height", length(at.height)}};
  if (!fill.empty()) with.push_back({"fill", fill});
  return element("rect", {}, with);
}

[[nodiscard]] inline markup path(const std::string& steps, const std::string& style) {
  return element("path", {}, {{"class", style}, {"d", steps}});
}

[[nodiscard]] inline markup dot(double x, double y, double radius, const std::string& style) {
  return element("circle", {},
                 {{"class", style}, {"cx", length(x)}, {"cy", length(y)}, {"r", length(radius)}});
}

/// A horizontal line from `low` to `high` with end marks.
[[nodiscard]] inline markup whisker(double low, double high, double y) {
  return path(fmt::format("M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8", low, high,
                          y, y - 4),
              "whisker");
}

[[nodiscard]] inline markup vertical_whisker(double x, double low, double high) {
  return path(fmt::format("M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} {2:.1f}h8", x, low,
                          high, x - 4),
              "whisker");
}

/// `text` with its `anchor` (start, middle, end) at x and its base line at y.
[[nodiscard]] inline markup label(double x, double y, std::string_view text,
                                  const std::string& anchor = "start",
                                  const std::string& style = "plain") {
  return element("text", escaped(text),
                 {{"class", style}, {"x", length(x)}, {"y", length(y)}, {"text-anchor", anchor}});
}

/// The approximate width of a text; it cannot be exact without the font.
[[nodiscard]] inline double label_width(std::string_view text) {
  return 6.6 * static_cast<double>(display_width(text));
}

/// A drawing with an optional caption; `title` is its description for screen readers.
[[nodiscard]] inline markup figure(double height, const std::string& title,
                                   const std::string& caption, const markup& inner) {
  const markup drawing = element(
      "svg", element("title", escaped(title)) + inner,
      {{"role", "img"}, {"viewBox", fmt::format("0 0 {} {}", drawing_width, length(height))}});
  markup content = wide(drawing, title);
  if (!caption.empty()) content += element("figcaption", escaped(caption));
  return element("figure", content);
}

/// A colour and a hatching for each op, the same in all charts of a page.
class palette {
 public:
  /// The ops of these predictions, those with most time first.
  explicit palette(std::span<const analysis::prediction> all) : ops_(analysis::ops_by_share(all)) {}

  [[nodiscard]] std::string fill(const std::string& op) const {
    return fmt::format("url(#kind{})", std::ranges::find(ops_, op) - ops_.begin());
  }

  /// The sample shown beside an op's name.
  [[nodiscard]] markup swatch(const std::string& op) const {
    return element("svg", rectangle({1, 1, 24, 12}, "bar", fill(op)),
                   {{"class", "swatch"}, {"viewBox", "0 0 26 14"}, {"aria-hidden", "true"}});
  }

  /// The patterns that the fills refer to; a page contains them once.
  [[nodiscard]] markup definitions() const {
    markup patterns;
    for (std::size_t i = 0; i < ops_.size(); ++i) patterns += pattern(i);
    return element("svg", element("defs", patterns),
                   {{"class", "hidden"}, {"aria-hidden", "true"}});
  }

 private:
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
  [[nodiscard]] static markup pattern(std::size_t i) {
    constexpr std::size_t shift = 3;
    const std::size_t hatching = (i + shift * (i / colours.size())) % hatchings.size();
    const std::string colour(colours.at(i % colours.size()));
    const markup tile = element("rect", {}, {{"width", "8"}, {"height", "8"}, {"fill", colour}});
    const markup lines = element("path", {},
                                 {{"d", std::string(hatchings.at(hatching))},
                                  {"fill", "none"},
                                  {"stroke", "#000"},
                                  {"stroke-opacity", "0.55"},
                                  {"stroke-width", "1.5"}});
    return element("pattern", tile + lines,
                   {{"id", fmt::format("kind{}", i)},
                    {"width", "8"},
                    {"height", "8"},
                    {"patternUnits", "userSpaceOnUse"}});
  }

  std::vector<std::string> ops_;
};

}  // namespace layerbench::report::svg
