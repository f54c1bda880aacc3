// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/activation.hpp>

namespace layerbench::reference {

/// Value of an activation function.
[[nodiscard]] inline double activate(op::activation_kind kind, double x) {
  using enum op::activation_kind;
  switch (kind) {
    case relu: return std::max(x, 0.0);
    case relu6: return std::clamp(x, 0.0, 6.0);
    case leaky_relu: return x >= 0 ? x : 0.01 * x;
    case elu: return x >= 0 ? x : std::expm1(x);
    case sigmoid: return 1 / (1 + std::exp(-x));
    case tanh: return std::tanh(x);
    case gelu: return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
    case swish: return x / (1 + std::exp(-x));
    case hardswish: return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case hardsigmoid: return std::clamp(x + 3, 0.0, 6.0) / 6;
    case linear: return x / 2 + 1;
  }
  throw unsupported("unknown activation");
}

/// Derivative of activate(), from its value `y` if op::activation::gradient_from_destination(),
/// otherwise from `x`.
[[nodiscard]] inline double derivative(op::activation_kind kind, double x, double y) {
  using enum op::activation_kind;
  const double logistic = 1 / (1 + std::exp(-x));
  switch (kind) {
    case relu: return y > 0 ? 1 : 0;
    case relu6: return x > 0 && x <= 6 ? 1 : 0;
    case leaky_relu: return y > 0 ? 1 : 0.01;
    case elu: return y > 0 ? 1 : y + 1;
    case sigmoid: return y * (1 - y);
    case tanh: return 1 - y * y;
    case gelu:
      return (1 + std::erf(x / std::numbers::sqrt2)) / 2 +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case swish: return logistic * (1 + x * (1 - logistic));
    case hardswish: return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case hardsigmoid: return x > -3 && x < 3 ? 1.0 / 6 : 0;
    case linear: return 0.5;
  }
  throw unsupported("unknown activation");
}

/// The largest slope of the function: how much it may enlarge an error of its argument.
[[nodiscard]] inline double steepest_slope(op::activation_kind kind) {
  using enum op::activation_kind;
  switch (kind) {
    case sigmoid: return 0.25;
    case gelu: return 1.13;
    case swish: return 1.1;
    case hardswish: return 1.5;
    case hardsigmoid: return 1.0 / 6;
    case linear: return 0.5;
    default: return 1;
  }
}

/// How much libraries' approximations of the function may be wrong, in units of the rounding error
/// of f32: relative to |x| + 1 (docs/concepts.md).
[[nodiscard]] inline double approximation(op::activation_kind kind, double x) {
  const bool exact = kind == op::activation_kind::relu || kind == op::activation_kind::relu6;
  return exact ? 0 : std::abs(x) + 1;
}

template <>
struct formula<op::activation> {
  [[nodiscard]] static sum at(const op::activation& o, op::pass pass, tensors in,
                              std::size_t /*output*/, std::int64_t index) {
    const double x = in[0][static_cast<std::size_t>(index)];
    const double scale = approximation(o.kind, x);
    if (pass == op::pass::bwd) {
      const double diff_dst = in[1][static_cast<std::size_t>(index)];
      return {derivative(o.kind, x, x) * diff_dst, scale * std::abs(diff_dst),
              scale * diff_dst * scale * diff_dst, 1, 1};
    }
    return {activate(o.kind, x), scale, scale * scale, 1, 1};
  }
};

static_assert(implements<backend, op::activation>);

}  // namespace layerbench::reference
