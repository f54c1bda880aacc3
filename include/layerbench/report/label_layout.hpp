// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
[[nodiscard]] double label_width(std::string_view text);

/// The box of a text whose base line starts at `at`.
[[nodiscard]] box label_box(std::string_view text, const point& at);

[[nodiscard]] inline bool overlap(const box& a, const box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/// The point of a box that is nearest to `to`.
[[nodiscard]] point nearest(const box& of, const point& to);

[[nodiscard]] bool overlap(const box& a, const circle& b);

/// Whether any part of the line is in the box: its part between the box's sides is not empty
/// (Liang and Barsky, 1984).
[[nodiscard]] bool overlap(const box& a, const segment& b);

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
  [[nodiscard]] std::optional<point> place(std::string_view text, std::span<const point> starts);

  struct beside_point {
    point start;                         ///< of the base line
    std::optional<segment> leader = {};  ///< from the point to a label that is not next to it
  };

  /// A place for the label of a point: next to it, else farther away with a line to it.
  [[nodiscard]] std::optional<beside_point> place_beside(std::string_view text, const circle& of);

 private:
  /// Right, left, above, below, then the directions between.
  [[nodiscard]] static std::vector<point> directions();

  /// The label whose box is `distance` away from the rim of the point.
  [[nodiscard]] static beside_point beside(std::string_view text, const circle& of,
                                           const point& direction, double distance);

  [[nodiscard]] bool crosses_label(const segment& leader) const;

  [[nodiscard]] bool is_free(const box& area, bool over_lines) const;

  box bounds_;
  std::vector<circle> points_;
  std::vector<segment> lines_;
  std::vector<segment> leaders_;
  std::vector<box> labels_;
};

}  // namespace layerbench::report::svg

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/label_layout-inl.hpp>
#endif
