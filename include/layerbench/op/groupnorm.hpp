// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <layerbench/op/layernorm.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Group normalization (Wu and He, ECCV 2018): dst = scale[c] * (src - mean) / sqrt(variance +
/// epsilon) + bias[c], with mean and variance over an image's pixels and c / groups neighbouring
/// channels, in inference too. With one group it normalises whole images, with c groups each
/// channel of each image (instance normalization). Pass `fwd_training` keeps mean and variance.
/// Pass `bwd` gives all gradients in one call.
struct groupnorm {
  static constexpr std::string_view name = "groupnorm";

  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t groups = 1;
  double epsilon = 1e-5;

  static constexpr auto fields = std::tuple{
      required("n", &groupnorm::n, "images in a batch"),
      required("c", &groupnorm::c, "channels"),
      required("h", &groupnorm::h, "height"),
      required("w", &groupnorm::w, "width"),
      required("groups", &groupnorm::groups, "groups of channels"),
      optional("epsilon", &groupnorm::epsilon, "added to the variance"),
  };

  void validate() const {
    if (c % groups != 0) throw invalid_field("groups", "does not divide c");
    if (epsilon <= 0 || epsilon >= 1) throw invalid_field("epsilon", "must lie between 0 and 1");
  }

  static std::vector<pass> passes() { return layernorm::passes(); }

  /// The normalization without scale and bias, as rows of a row-major image.
  [[nodiscard]] layernorm rows() const {
    return {{n, groups, checked_product({c / groups, h, w})},
            layernorm_kind::layer,
            epsilon,
            false,
            false};
  }

  /// src and dst n*c*h*w, scale and bias c, mean and variance n*groups (these four are f32 whatever
  /// the data type); gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims image{n, c, h, w};
    const dtype fine = type == dtype::f64 ? dtype::f64 : dtype::f32;
    const role statistics = p == pass::bwd ? role::source : role::destination;
    std::vector<operand> all{{"src", image, role::source, type}};
    if (p == pass::bwd) all.push_back({"diff_dst", image, role::source, type});
    all.push_back({"scale", {c}, role::weights, fine});
    if (p != pass::bwd) {
      all.push_back({"bias", {c}, role::weights, fine});
      all.push_back({"dst", image, role::destination, type});
    }
    if (p == pass::fwd) return all;
    all.push_back({"mean", {n, groups}, statistics, fine});
    all.push_back({"variance", {n, groups}, statistics, fine, 0.25});
    all.back().range_required = true;
    if (p != pass::bwd) return all;
    all.push_back({"diff_src", image, role::destination, type});
    all.push_back({"diff_scale", {c}, role::destination, fine});
    all.push_back({"diff_bias", {c}, role::destination, fine});
    return all;
  }

  /// As many operations per element as a layer normalization.
  [[nodiscard]] op::work work(pass p) const { return rows().work(p); }
};

}  // namespace layerbench::op
