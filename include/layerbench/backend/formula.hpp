// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

/// The right results of ops, in double precision: plans are checked against them.
namespace layerbench::reference {

/// One output element as a sum of terms, with what bounds the rounding error of a library that adds
/// the same terms in another order.
struct sum {
  double value = 0;
  double magnitude = 0;        ///< sum of the absolute values of the terms
  double squares = 0;          ///< sum of the squares of the terms
  std::int64_t terms = 0;      ///< number of terms
  std::int64_t roundings = 1;  ///< how often a library may round to the data type
  double rounded = 0;          ///< largest magnitude that it rounds, where above |value|
  /// Root of the sum of the squares of the terms that a library also rounds to the data type.
  double rounded_terms = 0;

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
/// Where elements share most of their work, specialise it with a class `evaluation` instead:
/// its constructor takes the first three of these, its `at` the others.
template <class Op>
struct formula;

/// All results of an op, given its inputs: a function of output and index, as formula. Use it no
/// longer than op and inputs exist.
template <class Op, class Pass>
[[nodiscard]] auto evaluate(const Op& op, Pass pass, tensors inputs) {
  if constexpr (requires { typename formula<Op>::evaluation; }) {
    auto whole = std::make_shared<const typename formula<Op>::evaluation>(op, pass, inputs);
    return [whole = std::move(whole)](std::size_t output, std::int64_t index) {
      return whole->at(output, index);
    };
  } else {
    return [&op, pass, inputs](std::size_t output, std::int64_t index) {
      return formula<Op>::at(op, pass, inputs, output, index);
    };
  }
}

}  // namespace layerbench::reference
