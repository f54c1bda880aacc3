// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/breakdown.hpp>
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

  [[nodiscard]] double operator()(double value) const {
    return from + (to - from) * (value - low) / (high - low);
  }

  /// The same positions for more values: those between `low` and `high` are `inset` away from both
  /// ends.
  [[nodiscard]] scale padded(double inset) const {
    const double more = (high - low) * inset / (std::abs(to - from) - 2 * inset);
    return {low - more, high + more, from, to};
  }
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

/// The text at the place that a layout has found.
[[nodiscard]] inline markup label(const point& start, std::string_view text) {
  return label(start.x, start.y, text);
}

[[nodiscard]] inline markup line(const segment& of, const std::string& style) {
  return path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", of.from.x, of.from.y, of.to.x, of.to.y),
              style);
}

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
[[nodiscard]] inline markup bar(const std::string& title,
                                const std::vector<std::pair<std::string, double>>& fills) {
  markup parts = element("title", escaped(title));
  double done = 0;
  for (const auto& [fill, share] : fills) {
    parts += element("rect", {},
                     {{"class", "bar"},
                      {"x", fmt::format("{:.2f}%", 100 * done)},
                      {"width", fmt::format("{:.2f}%", 100 * share)},
                      {"height", "100%"},
                      {"fill", fill}});
    done += share;
  }
  return element("figure", element("svg", parts, {{"class", "shares"}, {"role", "img"}}));
}

/// A colour and a hatching for each op, the same on all pages.
class palette {
 public:
  /// The ops of these predictions.
  explicit palette(std::span<const analysis::prediction> all) : ops_(analysis::ops_by_share(all)) {}

  [[nodiscard]] std::string fill(const std::string& op) const {
    return fmt::format("url(#kind{})", kind(op));
  }

  /// The sample shown beside an op's name.
  [[nodiscard]] markup swatch(const std::string& op) const {
    return element("svg", rectangle({1, 1, 24, 12}, "bar", fill(op)),
                   {{"class", "swatch"}, {"viewBox", "0 0 26 14"}, {"aria-hidden", "true"}});
  }

  /// A bar in a table's cell, as long as `share` of the cell's room for it.
  [[nodiscard]] markup cell_bar(const std::string& op, double share) const {
    const double room = 62;
    return element("svg", rectangle({1, 1, std::max(1.0, room * share), 12}, "bar", fill(op)),
                   {{"class", "cell-bar"}, {"viewBox", "0 0 64 14"}, {"aria-hidden", "true"}});
  }

  /// The patterns that the fills refer to; a page contains them once.
  [[nodiscard]] markup definitions() const {
    std::set<std::size_t> kinds;
    for (const std::string& op : ops_) kinds.insert(kind(op));
    markup patterns;
    for (const std::size_t i : kinds) patterns += pattern(i);
    return element("svg", element("defs", patterns),
                   {{"class", "hidden"}, {"aria-hidden", "true"}});
  }

 private:
  /// The number of an op's pattern, by its name alone. The eight that take most time in common
  /// models have colours of their own.
  [[nodiscard]] static std::size_t kind(std::string_view op) {
    constexpr std::array<std::string_view, 28> known{
        "conv",      "gemm",      "batchnorm",     "activation", "pool",    "add",
        "attention", "layernorm", "concat",        "multiply",   "softmax", "rnn",
        "embedding", "deconv",    "lrn",           "update",     "dropout", "reorder",
        "pad",       "slice",     "transpose",     "append",     "rotary",  "quantize",
        "stream",    "allreduce", "cross_entropy", "collective"};
    const auto found = std::ranges::find(known, op);
    if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
    constexpr std::size_t others = colours.size() * hatchings.size() - known.size();
    std::size_t hash = 0;
    for (const char c : op) hash = 31 * hash + static_cast<unsigned char>(c);
    return known.size() + hash % others;
  }

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
