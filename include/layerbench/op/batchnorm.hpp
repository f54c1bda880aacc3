// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Batch normalisation of each channel. Pass `fwd` (inference) uses given statistics:
/// dst = scale[c] * (src - mean[c]) / sqrt(variance[c] + epsilon) + shift[c]
/// (Ioffe and Szegedy 2015, algorithm 2).
struct batchnorm {
  static constexpr std::string_view name = "batchnorm";
  static constexpr op::storage storage = op::storage::own;

  std::int64_t n = 1, c = 1, h = 1, w = 1;
  double epsilon = 1e-5;

  static constexpr auto fields = std::tuple{
      required("n", &batchnorm::n, "images in a batch"),
      required("c", &batchnorm::c, "channels"),
      required("h", &batchnorm::h, "height"),
      required("w", &batchnorm::w, "width"),
      optional("epsilon", &batchnorm::epsilon, "added to the variance"),
  };

  void validate() const {
    if (epsilon <= 0 || epsilon >= 1) throw invalid_field("epsilon", "must lie between 0 and 1");
  }

  /// src n*c*h*w, scale, shift, mean and variance c each (f32 whatever the data type, as in all
  /// libraries), dst n*c*h*w.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    const dims image{n, c, h, w};
    const dtype statistics = type == dtype::f64 ? dtype::f64 : dtype::f32;
    std::vector<operand> all{{"src", image, role::source, type},
                             {"scale", {c}, role::weights, statistics},
                             {"shift", {c}, role::weights, statistics},
                             {"mean", {c}, role::statistics, statistics},
                             {"variance", {c}, role::statistics, statistics, 0.25, 1},
                             {"dst", image, role::destination, type}};
    if (type == dtype::s8) rescale_to_integers(all);
    return all;
  }

  /// One multiplication and one addition an element.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t flops = checked_product({2, n, c, h, w});
    return {0, flops, flops};
  }

 private:
  /// The libraries normalise stored integers without scales: the test data must make use of their
  /// range, so that a result is more than a few units.
  static void rescale_to_integers(std::vector<operand>& all) {
    const auto set = [&](std::size_t i, double low, double high) {
      all[i].low = low;
      all[i].high = high;
    };
    for (operand& each : all) each.quantum = 1;
    set(0, -127, 127);    // src
    set(1, 16, 48);       // scale
    set(2, -16, 16);      // shift
    set(3, -16, 16);      // mean
    set(4, 2500, 10000);  // variance
  }
};

}  // namespace layerbench::op
