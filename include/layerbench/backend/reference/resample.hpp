// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/resample.hpp>

namespace layerbench::reference {

template <>
struct formula<op::resample> {
  [[nodiscard]] static sum at(const op::resample& o, op::pass pass, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    return pass == op::pass::bwd ? gradient(o, in, index) : result(o, in, index);
  }

 private:
  /// A height or a width, before and after.
  struct axis {
    op::resample_kind kind;
    std::int64_t from;
    std::int64_t to;

    /// The centre of an output pixel, in input pixels from the centre of the first one.
    [[nodiscard]] double centre(std::int64_t output) const {
      return (static_cast<double>(output) + 0.5) * static_cast<double>(from) /
                 static_cast<double>(to) -
             0.5;
    }
    /// The input pixels around it: the first, and the one behind the last.
    [[nodiscard]] std::int64_t first(std::int64_t output) const {
      return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(centre(output))), 0);
    }
    [[nodiscard]] std::int64_t end(std::int64_t output) const {
      return std::min(static_cast<std::int64_t>(std::floor(centre(output))) + 2, from);
    }
    /// The weight of an input pixel in an output pixel.
    [[nodiscard]] double weight(std::int64_t input, std::int64_t output) const {
      if (kind == op::resample_kind::nearest) return input == output * from / to ? 1 : 0;
      const double at = std::clamp(centre(output), 0.0, static_cast<double>(from - 1));
      return std::max(0.0, 1 - std::abs(at - static_cast<double>(input)));
    }
  };

  /// A library computes centres in f32, with an error in proportion to the size.
  static sum with_inexact_centres(sum total, const op::resample& o) {
    if (o.kind == op::resample_kind::nearest) return {total.value};
    total.magnitude *= static_cast<double>(std::max(o.h, o.w));
    return total;
  }

  static sum result(const op::resample& o, tensors in, std::int64_t index) {
    const axis rows{o.kind, o.h, o.p};
    const axis columns{o.kind, o.w, o.q};
    const std::int64_t x = index % o.q;
    const std::int64_t y = index / o.q % o.p;
    const std::int64_t plane = index / (o.q * o.p) * o.h * o.w;
    sum total;
    for (std::int64_t row = rows.first(y); row < rows.end(y); ++row) {
      for (std::int64_t column = columns.first(x); column < columns.end(x); ++column) {
        total.add(rows.weight(row, y) * columns.weight(column, x) *
                  in[0][static_cast<std::size_t>(plane + row * o.w + column)]);
      }
    }
    return with_inexact_centres(total, o);
  }

  static sum gradient(const op::resample& o, tensors in, std::int64_t index) {
    const axis rows{o.kind, o.h, o.p};
    const axis columns{o.kind, o.w, o.q};
    const std::int64_t x = index % o.w;
    const std::int64_t y = index / o.w % o.h;
    const std::int64_t plane = index / (o.w * o.h) * o.p * o.q;
    sum total;
    for (std::int64_t row = 0; row < o.p; ++row) {
      const double weight = rows.weight(y, row);
      if (weight == 0) continue;
      for (std::int64_t column = 0; column < o.q; ++column) {
        const double share = weight * columns.weight(x, column);
        if (share == 0) continue;
        total.add(share * in[0][static_cast<std::size_t>(plane + row * o.q + column)]);
      }
    }
    total.roundings = std::max<std::int64_t>(1, total.terms);
    total.rounded = total.magnitude;
    return o.kind == op::resample_kind::nearest ? total : with_inexact_centres(total, o);
  }
};

static_assert(implements<backend, op::resample>);

}  // namespace layerbench::reference
