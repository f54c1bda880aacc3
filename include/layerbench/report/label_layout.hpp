// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <layerbench/base/stats.hpp>
#include <layerbench/base/table.hpp>

/// Where the labels of a chart go, so that they cover neither points nor each other.
namespace layerbench::report::svg {

struct box {
  double x;
  double y;
  double width;
  double height;
};

struct point {
  double x;
  double y;
};

struct segment {
  point from;
  point to;
};

struct circle {
  point centre;
  double radius;
};

/// The size of labels. The style sheet asks for a monospaced font of 11 px, so that the width of a
/// text is known although the font is not.
struct label_size {
  static constexpr double character = 6.7;
  static constexpr double ascent = 9;
  static constexpr double descent = 3;
};

/// The width of a text; characters of three and more bytes of UTF-8 count double.
[[nodiscard]] inline double label_width(std::string_view text) {
  const auto wide =
      std::ranges::count_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0xE0U; });
  return label_size::character *
         (static_cast<double>(display_width(text)) + static_cast<double>(wide));
}

/// The box of a text whose base line starts at `at`.
[[nodiscard]] inline box label_box(std::string_view text, const point& at) {
  return {at.x, at.y - label_size::ascent, label_width(text),
          label_size::ascent + label_size::descent};
}

[[nodiscard]] inline bool overlap(const box& a, const box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/// The point of a box that is nearest to `to`.
[[nodiscard]] inline point nearest(const box& of, const point& to) {
  return {std::clamp(to.x, of.x, of.x + of.width), std::clamp(to.y, of.y, of.y + of.height)};
}

[[nodiscard]] inline bool overlap(const box& a, const circle& b) {
  const point close = nearest(a, b.centre);
  return stats::root_of_squares(close.x - b.centre.x, close.y - b.centre.y) < b.radius;
}

/// Whether any part of the line is in the box: its part between the box's sides is not empty
/// (Liang and Barsky, 1984).
[[nodiscard]] inline bool overlap(const box& a, const segment& b) {
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

/// Places labels one after another. The order of calls decides, so that a drawing is always the
/// same.
class label_layout {
 public:
  /// Labels stay within `bounds`.
  explicit label_layout(const box& bounds) : bounds_(bounds) {}

  /// Labels never cover this point.
  void add(const circle& point) { points_.push_back(point); }
  /// Labels cover this line only where there is no other place.
  void add(const segment& line) { lines_.push_back(line); }

  /// The first of these starts of the base line where `text` covers nothing; nothing if it always
  /// does.
  [[nodiscard]] std::optional<point> place(std::string_view text, std::span<const point> starts) {
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

  struct beside_point {
    point start;                         ///< of the base line
    std::optional<segment> leader = {};  ///< from the point to a label that is not next to it
  };

  /// A place for the label of a point: next to it, else farther away with a line to it.
  [[nodiscard]] std::optional<beside_point> place_beside(std::string_view text, const circle& of) {
    constexpr double gap = 2;
    constexpr double step = 8;
    constexpr double farthest = 200;
    for (const bool over_lines : {false, true}) {
      for (double distance = gap; distance < farthest; distance += step) {
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

 private:
  /// Right, left, above, below, then the directions between.
  [[nodiscard]] static std::vector<point> directions() {
    std::vector<point> all;
    for (const double degrees :
         {0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 68, 292, 112, 248}) {
      const double angle = degrees * std::numbers::pi / 180;
      all.push_back({std::cos(angle), -std::sin(angle)});
    }
    return all;
  }

  /// The label whose box is `distance` away from the rim of the point.
  [[nodiscard]] static beside_point beside(std::string_view text, const circle& of,
                                           const point& direction, double distance) {
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

  [[nodiscard]] bool crosses_label(const segment& leader) const {
    return std::ranges::any_of(labels_, [&](const box& other) { return overlap(other, leader); });
  }

  [[nodiscard]] bool is_free(const box& area, bool over_lines) const {
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

  box bounds_;
  std::vector<circle> points_;
  std::vector<segment> lines_;
  std::vector<segment> leaders_;
  std::vector<box> labels_;
};

}  // namespace layerbench::report::svg
