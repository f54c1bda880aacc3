// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/softmax.hpp>

namespace layerbench::reference {

template <>
struct formula<op::softmax> {
  [[nodiscard]] static sum at(const op::softmax& o, op::pass pass, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    std::int64_t inner = 1;
    for (std::size_t i = o.dims.size() - 1; i > static_cast<std::size_t>(o.axis); --i) {
      inner *= o.dims[i];
    }
    const std::int64_t length = o.dims[static_cast<std::size_t>(o.axis)];
    const std::int64_t first = index / (inner * length) * inner * length + index % inner;
    if (pass == op::pass::bwd) return gradient(in, index, first, inner, length);
    const auto source = [&](std::int64_t i) -> double {
      return in[0][static_cast<std::size_t>(first + i * inner)];
    };
    double largest = source(0);
    for (std::int64_t i = 1; i < length; ++i) largest = std::max(largest, source(i));
    double total = 0;
    for (std::int64_t i = 0; i < length; ++i) total += std::exp(source(i) - largest);
    const double value = std::exp(in[0][static_cast<std::size_t>(index)] - largest) / total;
    // Two roundings: libraries store the exponentials in the destination before they divide by the
    // sum.
    return {value, value, value * value, length, 2};
  }

 private:
  /// diff_src = dst * (diff_dst - sum of dst * diff_dst over the axis).
  static sum gradient(tensors in, std::int64_t index, std::int64_t first, std::int64_t inner,
                      std::int64_t length) {
    const double factor = in[0][static_cast<std::size_t>(index)];
    sum total;
    total.add(factor * in[1][static_cast<std::size_t>(index)]);
    for (std::int64_t i = 0; i < length; ++i) {
      total.add(-factor * product(in[0], first + i * inner, in[1], first + i * inner));
    }
    return total;
  }
};

static_assert(implements<backend, op::softmax>);

}  // namespace layerbench::reference
