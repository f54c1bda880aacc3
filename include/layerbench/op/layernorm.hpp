// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class layernorm_kind { layer, rms };

[[nodiscard]] constexpr std::array<std::string_view, 2> list_names(layernorm_kind /*tag*/) {
  return {"layer", "rms"};
}

/// Normalization of each row, the elements along the last axis:
///
/// - `layer` (Ba, Kiros and Hinton 2016):
///   dst = scale[c] * (src - mean) / sqrt(variance + epsilon) + bias[c].
/// - `rms` (Zhang and Sennrich 2019): dst = scale[c] * src / sqrt(variance + epsilon), where the
///   variance is the mean of the squares. There is no bias.
///
/// Mean and variance are those of the row, in inference too. Pass `fwd_training` keeps them. Pass
/// `bwd` gives all gradients in one call. Tensors are row-major in every layout: tokens are rows.
struct layernorm {
  static constexpr std::string_view name = "layernorm";

  layerbench::dims dims;
  layernorm_kind kind = layernorm_kind::layer;
  double epsilon = 1e-5;
  bool scale = true;
  bool bias = true;

  static constexpr auto fields = std::tuple{
      required("dims", &layernorm::dims, "extents of the tensor; the last is normalised"),
      optional("kind", &layernorm::kind, "layer or rms"),
      optional("epsilon", &layernorm::epsilon, "added to the variance"),
      optional("scale", &layernorm::scale, "whether a scale is learned, else it is 1"),
      optional("bias", &layernorm::bias, "whether a bias is learned, else it is 0; rms has none"),
  };

  void validate() const {
    if (dims.size() < 2) throw invalid_field("dims", "needs an axis before the normalised one");
    if (epsilon <= 0 || epsilon >= 1) throw invalid_field("epsilon", "must lie between 0 and 1");
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::fwd_training, pass::bwd}; }

  /// Elements of a row.
  [[nodiscard]] std::int64_t columns() const { return dims.back(); }
  [[nodiscard]] bool has_mean() const { return kind == layernorm_kind::layer; }
  [[nodiscard]] bool has_bias() const { return has_mean() && bias; }
  /// Extents of what each row has once.
  [[nodiscard]] layerbench::dims rows() const { return {dims.begin(), dims.end() - 1}; }

  /// src and dst of extents dims, scale and bias of the last one, mean and variance one per row
  /// (these four are f32 whatever the data type); gradients alike. There is no operand for what is
  /// not learned, and no mean of kind rms.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dtype fine = type == dtype::f64 ? dtype::f64 : dtype::f32;
    const bool backward = p == pass::bwd;
    const role statistics = backward ? role::source : role::destination;
    std::vector<operand> all{{"src", dims, role::source, type}};
    if (backward) all.push_back({"diff_dst", dims, role::source, type});
    if (scale) all.push_back({"scale", {columns()}, role::weights, fine});
    if (!backward && has_bias()) all.push_back({"bias", {columns()}, role::weights, fine});
    if (!backward) all.push_back({"dst", dims, role::destination, type});
    if (p == pass::fwd) return all;
    if (has_mean()) all.push_back({"mean", rows(), statistics, fine});
    all.push_back({"variance", rows(), statistics, fine, 0.25});
    all.back().range_required = true;
    if (!backward) return all;
    all.push_back({"diff_src", dims, role::destination, type});
    if (scale) all.push_back({"diff_scale", {columns()}, role::destination, fine});
    if (has_bias()) all.push_back({"diff_bias", {columns()}, role::destination, fine});
    return all;
  }

  /// Operations per element, whatever is learned. `layer`: an addition for the mean; a difference,
  /// a product and an addition for the variance; two products and an addition for the result. `rms`
  /// has neither mean nor bias: four. `bwd` of both: normalised src and scaled gradient, a product
  /// and an addition for the sum of their products, three to combine them, a product and an
  /// addition for the scale's gradient. Kind `layer` has four more: a difference, an addition for
  /// the sum of the gradients, a difference of it, an addition for the bias's gradient.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t an_element = p == pass::bwd ? (has_mean() ? 13 : 9) : (has_mean() ? 7 : 4);
    const std::int64_t flops = checked_multiply(an_element, elements(dims));
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
