// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/lrn.hpp>

namespace layerbench::reference {

template <>
struct formula<op::lrn> {
  [[nodiscard]] static sum at(const op::lrn& o, op::pass pass, tensors in, std::size_t /*output*/,
                              std::int64_t index) {
    if (pass == op::pass::bwd) return gradient(o, in, index);
    const double value =
        in[0][static_cast<std::size_t>(index)] * std::pow(base(o, in, index), -o.beta);
    return {value, std::abs(value), value * value, o.size, 1};
  }

 private:
  /// Calls `visit` with the positions of the channels around that of element `index`.
  template <class Visit>
  static void for_window(const op::lrn& o, std::int64_t index, const Visit& visit) {
    const std::int64_t plane = o.h * o.w;
    const std::int64_t channel = index / plane % o.c;
    const std::int64_t first = std::max<std::int64_t>(channel - o.size / 2, 0);
    const std::int64_t last = std::min(channel + o.size / 2, o.c - 1);
    for (std::int64_t c = first; c <= last; ++c) visit(index + (c - channel) * plane);
  }

  /// What is raised to -beta.
  static double base(const op::lrn& o, tensors in, std::int64_t index) {
    double squares = 0;
    for_window(o, index, [&](std::int64_t i) { squares += product(in[0], i, in[0], i); });
    return o.k + o.alpha / static_cast<double>(o.size) * squares;
  }

  /// diff_dst / base^beta - 2 alpha beta / size * src * (sum of diff_dst * dst / base), by the
  /// chain rule. Libraries may keep what they know of the base in the data type.
  static sum gradient(const op::lrn& o, tensors in, std::int64_t index) {
    constexpr std::size_t diff_dst = 2;
    const auto i = static_cast<std::size_t>(index);
    const double factor = -2 * o.alpha * o.beta / static_cast<double>(o.size) * in[0][i];
    sum total;
    total.add(in[diff_dst][i] * std::pow(base(o, in, index), -o.beta));
    for_window(o, index, [&](std::int64_t j) {
      total.add(factor * product(in[diff_dst], j, in[0], j) *
                std::pow(base(o, in, j), -o.beta - 1));
    });
    total.terms += o.size;
    total.roundings = 3;
    total.rounded = total.magnitude;
    return total;
  }
};

static_assert(implements<backend, op::lrn>);

}  // namespace layerbench::reference
