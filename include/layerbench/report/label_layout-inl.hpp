// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/label_layout.hpp>

namespace layerbench::report::svg {

LAYERBENCH_INLINE double label_width(std::string_view text) {
  const auto wide =
      std::ranges::count_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0xE0U; });
  return label_size::character *
         (static_cast<double>(display_width(text)) + static_cast<double>(wide));
}

LAYERBENCH_INLINE box label_box(std::string_view text, const point& at) {
  return {at.x, at.y - label_size::ascent, label_width(text),
          label_size::ascent + label_size::descent};
}

LAYERBENCH_INLINE point nearest(const box& of, const point& to) {
  return {std::clamp(to.x, of.x, of.x + of.width), std::clamp(to.y, of.y, of.y + of.height)};
}

LAYERBENCH_INLINE bool overlap(const box& a, const circle& b) {
  const point close = nearest(a, b.centre);
  return stats::root_of_squares(close.x - b.centre.x, close.y - b.centre.y) < b.radius;
}

LAYERBENCH_INLINE bool overlap(const box& a, const segment& b) {
  double first = 0;
  double last = 1;
  const auto clip = [&](double start, double length, double low, double high) {
    if (length == 0) return low < start && start < high;
    const auto [enter, leave] = std::minmax((low - start) / length, (high - start) / length);
    first = std::max(first, enter);
    last = std::min(last, leave);
    return first < last;
  };
  return clip(b.from.x, b.to.x - b.from.x, a.x, a.x + a.width) &&
         clip(b.from.y, b.to.y - b.from.y, a.y, a.y + a.height);
}

LAYERBENCH_INLINE std::optional<point> label_layout::place(std::string_view text,
                                                           std::span<const point> starts) {
  for (const bool over_lines : {false, true}) {
    for (const point& start : starts) {
      const box area = label_box(text, start);
      if (!is_free(area, over_lines)) continue;
      labels_.push_back(area);
      return start;
    }
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::optional<label_layout::beside_point> label_layout::place_beside(
    std::string_view text, const circle& of) {
  constexpr double gap = 2;
  constexpr double step = 8;
  constexpr int steps = 25;
  for (const bool over_lines : {false, true}) {
    for (int i = 0; i < steps; ++i) {
      const double distance = gap + i * step;
      for (const point& direction : directions()) {
        const beside_point found = beside(text, of, direction, distance);
        const box area = label_box(text, found.start);
        if (!is_free(area, over_lines)) continue;
        if (found.leader && crosses_label(*found.leader)) continue;
        labels_.push_back(area);
        if (found.leader) leaders_.push_back(*found.leader);
        return found;
      }
    }
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::vector<point> label_layout::directions() {
  std::vector<point> all;
  for (const double degrees :
       {0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 68, 292, 112, 248}) {
    const double angle = degrees * std::numbers::pi / 180;
    all.push_back({std::cos(angle), -std::sin(angle)});
  }
  return all;
}

LAYERBENCH_INLINE label_layout::beside_point label_layout::beside(std::string_view text,
                                                                  const circle& of,
                                                                  const point& direction,
                                                                  double distance) {
  constexpr double without_leader = 6;
  const box size = label_box(text, {0, 0});
  const double away = of.radius + distance;
  const point rim{of.centre.x + away * direction.x, of.centre.y + away * direction.y};
  // The box extends from there in the same direction: its centre is half its size farther.
  const point start{
      rim.x + (direction.x - 1) * size.width / 2,
      rim.y + direction.y * size.height / 2 + (label_size::ascent - label_size::descent) / 2};
  if (distance <= without_leader) return {start};
  const point from{of.centre.x + of.radius * direction.x, of.centre.y + of.radius * direction.y};
  return {start, segment{from, nearest(label_box(text, start), from)}};
}

LAYERBENCH_INLINE bool label_layout::crosses_label(const segment& leader) const {
  return std::ranges::any_of(labels_, [&](const box& other) { return overlap(other, leader); });
}

LAYERBENCH_INLINE bool label_layout::is_free(const box& area, bool over_lines) const {
  constexpr double gap = 4;  // between labels side by side, so that "1" and "2" are not "12"
  const auto covers = [&](const auto& other) { return overlap(area, other); };
  const auto touches = [&](const box& other) {
    return overlap({area.x - gap, area.y, area.width + 2 * gap, area.height}, other);
  };
  return area.x >= bounds_.x && area.y >= bounds_.y &&
         area.x + area.width <= bounds_.x + bounds_.width &&
         area.y + area.height <= bounds_.y + bounds_.height &&
         std::ranges::none_of(points_, covers) && std::ranges::none_of(labels_, touches) &&
         std::ranges::none_of(leaders_, covers) &&
         (over_lines || std::ranges::none_of(lines_, covers));
}

}  // namespace layerbench::report::svg
