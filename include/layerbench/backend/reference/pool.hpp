// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/op/pool.hpp>

namespace layerbench::reference {

template <>
struct formula<op::pool> {
  [[nodiscard]] static sum at(const op::pool& o, op::pass pass, tensors in, std::size_t output,
                              std::int64_t index) {
    if (pass == op::pass::bwd) return gradient(o, in, index);
    const pool_window window = window_of(o, index);
    const std::int64_t channel = index / (o.q() * o.p() * o.z()) * o.d;
    double largest = -std::numeric_limits<double>::infinity();
    std::int64_t tap = 0;
    sum total;
    for (std::int64_t z = std::max<std::int64_t>(window.front, 0); z < window.back(o); ++z) {
      for (std::int64_t y = std::max<std::int64_t>(window.top, 0); y < window.bottom(o); ++y) {
        for (std::int64_t x = std::max<std::int64_t>(window.left, 0); x < window.right(o); ++x) {
          const std::int64_t source = ((channel + z) * o.h + y) * o.w + x;
          const double value = in[0][static_cast<std::size_t>(source)];
          if (value > largest) {
            largest = value;
            tap = ((z - window.front) * o.r + y - window.top) * o.s + x - window.left;
          }
          total.add(value);
        }
      }
    }
    constexpr std::size_t workspace = 2;
    if (output == workspace) return {static_cast<double>(tap), 0, 0, 0, 1};
    if (o.kind == op::pool_kind::max) return {largest, 0, 0, 0, 1};  // a maximum is exact
    const double divisor = window.divisor(o);
    return {total.value / divisor, total.magnitude / divisor, total.squares / (divisor * divisor),
            total.terms, 1};
  }

 private:
  /// First plane, row and column of the window of an output; negative in the padding.
  struct pool_window {
    std::int64_t front;
    std::int64_t top;
    std::int64_t left;

    [[nodiscard]] std::int64_t back(const op::pool& o) const { return std::min(front + o.t, o.d); }
    [[nodiscard]] std::int64_t bottom(const op::pool& o) const { return std::min(top + o.r, o.h); }
    [[nodiscard]] std::int64_t right(const op::pool& o) const { return std::min(left + o.s, o.w); }
    /// Divisor of an average.
    [[nodiscard]] double divisor(const op::pool& o) const {
      const std::int64_t planes = o.count_padding
                                      ? std::min(front + o.t, o.d + o.depth_pad.value) - front
                                      : back(o) - std::max<std::int64_t>(front, 0);
      const std::int64_t rows = o.count_padding ? std::min(top + o.r, o.h + o.pad.bottom) - top
                                                : bottom(o) - std::max<std::int64_t>(top, 0);
      const std::int64_t columns = o.count_padding ? std::min(left + o.s, o.w + o.pad.right) - left
                                                   : right(o) - std::max<std::int64_t>(left, 0);
      return static_cast<double>(planes * rows * columns);
    }
  };
  static pool_window window_of(const op::pool& o, std::int64_t output) {
    return {output / (o.q() * o.p()) % o.z() * o.depth_stride - o.depth_pad.value,
            output / o.q() % o.p() * o.stride.v - o.pad.top,
            output % o.q() * o.stride.h - o.pad.left};
  }

  /// The windows along an axis that contain its element `x`.
  struct windows {
    std::int64_t first;
    std::int64_t end;
  };
  static windows containing(std::int64_t x, std::int64_t pad, std::int64_t size,
                            std::int64_t stride, std::int64_t count) {
    const std::int64_t padded = x + pad;
    return {ceil_div(std::max<std::int64_t>(padded - size + 1, 0), stride),
            std::min(padded / stride + 1, count)};
  }

  /// diff_src[index], summed over the windows that contain the element: a window's average passes
  /// on diff_dst / divisor, its maximum diff_dst to the argmax only.
  static sum gradient(const op::pool& o, tensors in, std::int64_t index) {
    const std::int64_t x = index % o.w;
    const std::int64_t y = index / o.w % o.h;
    const std::int64_t plane = index / (o.w * o.h) % o.d;
    const std::int64_t channel = index / (o.w * o.h * o.d) * o.z();
    const windows planes = containing(plane, o.depth_pad.value, o.t, o.depth_stride, o.z());
    const windows rows = containing(y, o.pad.top, o.r, o.stride.v, o.p());
    const windows columns = containing(x, o.pad.left, o.s, o.stride.h, o.q());
    sum total;
    for (std::int64_t z = planes.first; z < planes.end; ++z) {
      for (std::int64_t p = rows.first; p < rows.end; ++p) {
        for (std::int64_t q = columns.first; q < columns.end; ++q) {
          const std::int64_t output = ((channel + z) * o.p() + p) * o.q() + q;
          const pool_window window = window_of(o, output);
          const std::int64_t tap =
              ((plane - window.front) * o.r + y - window.top) * o.s + x - window.left;
          const auto i = static_cast<std::size_t>(output);
          if (o.kind == op::pool_kind::average) {
            total.add(in[0][i] / window.divisor(o));
          } else if (std::lround(in[1][i]) == tap) {
            total.add(in[0][i]);
          }
        }
      }
    }
    // Libraries add up in the destination, so each addition is rounded to the data type.
    total.roundings = std::max<std::int64_t>(1, total.terms);
    total.rounded = total.magnitude;
    return total;
  }
};

static_assert(implements<backend, op::pool>);

}  // namespace layerbench::reference
