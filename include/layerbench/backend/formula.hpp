// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

/// The right results of ops, in double precision: plans are checked against them.
namespace layerbench::reference {

/// One output element as the sum it is: its value, the sums of the terms' magnitudes and squares,
/// and their number. The last three bound the rounding error of whoever sums the same terms in
/// another order. `roundings` is how often the result may be rounded to the data type on its way,
/// and `rounded` the magnitude of what is, where that is more than the result.
struct sum {
  double value = 0;
  double magnitude = 0;
  double squares = 0;
  std::int64_t terms = 0;
  std::int64_t roundings = 1;
  double rounded = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    squares += term * term;
    ++terms;
  }
};

/// Elements of the operands of an op, in its order, row-major; outputs are empty.
using tensors = std::span<const std::span<const float>>;

/// Element `i` of `a` times element `j` of `b`.
[[nodiscard]] inline double product(std::span<const float> a, std::int64_t i,
                                    std::span<const float> b, std::int64_t j) {
  return static_cast<double>(a[static_cast<std::size_t>(i)]) * b[static_cast<std::size_t>(j)];
}

/// The formula of an op, element by element: specialise it with
/// `static sum at(const Op&, op::pass, tensors, std::size_t output, std::int64_t index)`, which
/// gives element `index` (row-major) of operand `output` before it is rounded to the data type.
template <class Op>
struct formula;

}  // namespace layerbench::reference
