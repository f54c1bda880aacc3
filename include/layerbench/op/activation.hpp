// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// relu max(x,0); relu6 min(max(x,0),6); leaky_relu x or 0.01 x below 0; elu x or e^x-1 below 0;
/// sigmoid 1/(1+e^-x); tanh; gelu x/2 (1+erf(x/sqrt 2)); swish x*sigmoid(x);
/// hardswish x*min(max(x+3,0),6)/6; hardsigmoid min(max(x+3,0),6)/6; linear x/2+1, which stands for
/// a product with any number and a sum with another one.
enum class activation_kind {
  relu,
  relu6,
  leaky_relu,
  elu,
  sigmoid,
  tanh,
  gelu,
  swish,
  hardswish,
  hardsigmoid,
  linear
};

[[nodiscard]] constexpr std::array<std::string_view, 11> list_names(activation_kind /*tag*/) {
  return {"relu", "relu6", "leaky_relu", "elu",         "sigmoid", "tanh",
          "gelu", "swish", "hardswish",  "hardsigmoid", "linear"};
}

/// An element-wise function of one tensor.
struct activation {
  static constexpr std::string_view name = "activation";
  static constexpr bool overwrites_source = true;

  activation_kind kind = activation_kind::relu;
  layerbench::dims dims;

  static constexpr auto fields = std::tuple{
      required("kind", &activation::kind, "the function"),
      required("dims", &activation::dims, "extents of the tensor"),
  };

  void validate() const {}

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// Whether the gradient needs only the destination. The other kinds need the source, so they
  /// cannot overwrite it in training.
  [[nodiscard]] bool gradient_from_destination() const {
    using enum activation_kind;
    return kind == relu || kind == leaky_relu || kind == elu || kind == sigmoid || kind == tanh;
  }

  /// src and dst of extents dims, gradients alike; `bwd` reads one of the two. Test data reaches
  /// past the bends of every function, for integers as far as its scale does.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    if (p == pass::bwd) {
      operand kept{"dst", dims, role::source, type};
      if (kind == activation_kind::sigmoid) kept.low = 0;
      if (!gradient_from_destination()) kept = {"src", dims, role::source, type, -8, 8};
      return {kept,
              {"diff_dst", dims, role::source, type},
              {"diff_src", dims, role::destination, type}};
    }
    const double reach = is_integer(type) ? 1 : 8;
    return {{"src", dims, role::source, type, -reach, reach},
            {"dst", dims, role::destination, type}};
  }

  /// One operation per element by convention, for every function.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t flops = elements(dims);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
