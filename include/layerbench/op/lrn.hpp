// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Local response normalization across channels (Krizhevsky et al. 2012, section 3.3):
/// dst = src / (k + alpha / size * sum of src^2)^beta, the sum over the `size` channels around the
/// own one, as far as they exist. Caffe and the libraries divide alpha by the size; in the paper
/// alpha stands alone.
struct lrn {
  static constexpr std::string_view name = "lrn";

  std::int64_t n = 1, c = 1, h = 1, w = 1, size = 1;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;

  static constexpr auto fields = std::tuple{
      required("n", &lrn::n, "images in a batch"),
      required("c", &lrn::c, "channels"),
      required("h", &lrn::h, "height"),
      required("w", &lrn::w, "width"),
      required("size", &lrn::size, "channels of a sum, an odd number"),
      optional("alpha", &lrn::alpha, "factor of the mean square"),
      optional("beta", &lrn::beta, "exponent"),
      optional("k", &lrn::k, "added to the mean square"),
  };

  void validate() const {
    if (size % 2 == 0) throw invalid_field("size", "must be odd: as many channels on either side");
    if (alpha <= 0) throw invalid_field("alpha", "must be above 0");
    if (beta <= 0) throw invalid_field("beta", "must be above 0");
    if (k <= 0) throw invalid_field("k", "must be above 0");
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::fwd_training, pass::bwd}; }

  /// src and dst n*c*h*w, gradients alike. Training has a workspace that only the library knows.
  /// cuDNN's gradient reads dst, oneDNN's does without.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims image{n, c, h, w};
    if (p == pass::bwd) {
      return {{"src", image, role::source, type},
              {"dst", image, role::source, type},
              {"diff_dst", image, role::source, type},
              opaque_operand("workspace", role::source),
              {"diff_src", image, role::destination, type}};
    }
    std::vector<operand> all{{"src", image, role::source, type},
                             {"dst", image, role::destination, type}};
    if (p == pass::fwd_training) all.push_back(opaque_operand("workspace", role::destination));
    return all;
  }

  /// Of an element: a multiplication and an addition per channel of the sum, then a multiplication,
  /// an addition, a power and a division. `bwd` has a second sum and three operations to combine
  /// the two. `flops_exact` leaves channels out that do not exist.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t pixels = checked_product({n, h, w});
    const std::int64_t sums = p == pass::bwd ? 2 : 1;
    const std::int64_t others = p == pass::bwd ? 7 : 4;
    const auto flops = [&](std::int64_t taps) {
      const std::int64_t of_pixel =
          checked_add(checked_multiply(2 * sums, taps), checked_multiply(others, c));
      return checked_multiply(pixels, of_pixel);
    };
    return {0, flops(checked_multiply(size, c)), flops(window_taps(c, size / 2, size, 1, 1, c))};
  }
};

}  // namespace layerbench::op
