// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <set>

#include <layerbench/base/compiled.hpp>
#include <layerbench/report/svg.hpp>

namespace layerbench::report::svg {

LAYERBENCH_INLINE double scale::operator()(double value) const {
  return from + (to - from) * (value - low) / (high - low);
}

LAYERBENCH_INLINE scale scale::padded(double inset) const {
  const double more = (high - low) * inset / (std::abs(to - from) - 2 * inset);
  return {low - more, high + more, from, to};
}

LAYERBENCH_INLINE markup rectangle(const box& at, const std::string& style,
                                   const std::string& fill) {
  std::vector<attribute> with{{"class", style},
                              {"x", length(at.x)},
                              {"y", length(at.y)},
                              {"width", length(at.width)},
                              {"height", length(at.height)}};
  if (!fill.empty()) with.push_back({"fill", fill});
  return element("rect", {}, with);
}

LAYERBENCH_INLINE markup path(const std::string& steps, const std::string& style) {
  return element("path", {}, {{"class", style}, {"d", steps}});
}

LAYERBENCH_INLINE markup dot(double x, double y, double radius, const std::string& style) {
  return element("circle", {},
                 {{"class", style}, {"cx", length(x)}, {"cy", length(y)}, {"r", length(radius)}});
}

LAYERBENCH_INLINE markup whisker(double low, double high, double y) {
  return path(fmt::format("M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8", low, high,
                          y, y - 4),
              "whisker");
}

LAYERBENCH_INLINE markup vertical_whisker(double x, double low, double high) {
  return path(fmt::format("M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h8M{3:.1f} {2:.1f}h8", x, low,
                          high, x - 4),
              "whisker");
}

LAYERBENCH_INLINE markup label(double x, double y, std::string_view text, const std::string& anchor,
                               const std::string& style) {
  return element("text", escaped(text),
                 {{"class", style}, {"x", length(x)}, {"y", length(y)}, {"text-anchor", anchor}});
}

LAYERBENCH_INLINE markup line(const segment& of, const std::string& style) {
  return path(fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", of.from.x, of.from.y, of.to.x, of.to.y),
              style);
}

LAYERBENCH_INLINE markup bar(const std::string& title,
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

LAYERBENCH_INLINE std::string palette::fill(const std::string& op) const {
  return fmt::format("url(#kind{})", kind(op));
}

LAYERBENCH_INLINE markup palette::swatch(const std::string& op) const {
  return element("svg", rectangle({1, 1, 24, 12}, "bar", fill(op)),
                 {{"class", "swatch"}, {"viewBox", "0 0 26 14"}, {"aria-hidden", "true"}});
}

LAYERBENCH_INLINE markup palette::cell_bar(const std::string& op, double share) const {
  const double room = 62;
  return element("svg", rectangle({1, 1, std::max(1.0, room * share), 12}, "bar", fill(op)),
                 {{"class", "cell-bar"}, {"viewBox", "0 0 64 14"}, {"aria-hidden", "true"}});
}

LAYERBENCH_INLINE markup palette::definitions() const {
  std::set<std::size_t> kinds;
  for (const std::string& op : ops_) kinds.insert(kind(op));
  markup patterns;
  for (const std::size_t i : kinds) patterns += pattern(i);
  return element("svg", element("defs", patterns), {{"class", "hidden"}, {"aria-hidden", "true"}});
}

LAYERBENCH_INLINE std::size_t palette::kind(std::string_view op) {
  constexpr std::array<std::string_view, 29> known{
      "conv",      "gemm",      "batchnorm",     "activation", "pool",    "add",
      "attention", "layernorm", "concat",        "multiply",   "softmax", "rnn",
      "embedding", "deconv",    "lrn",           "update",     "dropout", "reorder",
      "pad",       "slice",     "transpose",     "append",     "rotary",  "quantize",
      "stream",    "allreduce", "cross_entropy", "collective", "resample"};
  const auto found = std::ranges::find(known, op);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  constexpr std::size_t others = colours.size() * hatchings.size() - known.size();
  std::size_t hash = 0;
  for (const char c : op) hash = 31 * hash + static_cast<unsigned char>(c);
  return known.size() + hash % others;
}

LAYERBENCH_INLINE markup palette::pattern(std::size_t i) {
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

}  // namespace layerbench::report::svg
