// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/op/post_ops.hpp>

namespace layerbench::op {

/// Batch normalization of each channel. Pass `fwd` (inference) uses given statistics:
/// dst = scale[c] * (src - mean[c]) / sqrt(variance[c] + epsilon) + shift[c]
/// (Ioffe and Szegedy 2015, algorithm 2). Pass `fwd_training` uses those of the batch (algorithm
/// 1), and moves the running ones a tenth of the way to them, the variance by its unbiased
/// estimate, as frameworks do. Pass `bwd` gives the gradients through the batch's statistics. The
/// post-ops come last.
struct batchnorm {
  static constexpr std::string_view name = "batchnorm";

  std::int64_t n = 1, c = 1, h = 1, w = 1;
  double epsilon = 1e-5;
  bool scale = true;
  bool shift = true;
  post_ops post = {};

  static constexpr auto fields = std::tuple{
      required("n", &batchnorm::n, "images in a batch"),
      required("c", &batchnorm::c, "channels"),
      required("h", &batchnorm::h, "height"),
      required("w", &batchnorm::w, "width"),
      optional("epsilon", &batchnorm::epsilon, "added to the variance"),
      optional("scale", &batchnorm::scale, "whether a scale is learned, else it is 1"),
      optional("shift", &batchnorm::shift, "whether a shift is learned, else it is 0"),
      optional("post", &batchnorm::post, post_help),
  };

  void validate() const {
    if (epsilon <= 0 || epsilon >= 1) throw invalid_field("epsilon", "must lie between 0 and 1");
    op::validate(post);
  }

  [[nodiscard]] std::vector<pass> passes() const {
    return passes_with(post, {pass::fwd, pass::fwd_training, pass::bwd});
  }

  /// Weight of a batch in the running statistics.
  static constexpr double momentum = 0.1;

  /// Number of learned tensors.
  [[nodiscard]] std::size_t learned() const { return (scale ? 1U : 0U) + (shift ? 1U : 0U); }

  /// src n*c*h*w, scale, shift, mean and variance c each (f32 whatever the data type, as in all
  /// libraries), dst n*c*h*w; gradients alike. There is no operand for what is not learned.
  /// `running_mean` and `running_variance` are what `fwd` calls mean and variance; they may be
  /// updated in place.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims image{n, c, h, w};
    const dtype fine = type == dtype::f64 ? dtype::f64 : dtype::f32;
    const auto channels = [&](std::string_view called, role used_as) {
      return operand{called, {c}, used_as, fine};
    };
    const auto variance = [&](std::string_view called, role used_as) {
      operand result = channels(called, used_as);
      result.low = 0.25;
      result.range_required = true;
      return result;
    };
    std::vector<operand> all{{"src", image, role::source, type}};
    if (p == pass::bwd) {
      all.push_back({"diff_dst", image, role::source, type});
      if (scale) all.push_back(channels("scale", role::weights));
      all.push_back(channels("mean", role::source));
      all.push_back(variance("variance", role::source));
      all.push_back({"diff_src", image, role::destination, type});
      if (scale) all.push_back(channels("diff_scale", role::destination));
      if (shift) all.push_back(channels("diff_shift", role::destination));
      return all;
    }
    if (scale) all.push_back(channels("scale", role::weights));
    if (shift) all.push_back(channels("shift", role::weights));
    if (p == pass::fwd_training) {
      all.push_back(channels("running_mean", role::statistics));
      all.push_back(variance("running_variance", role::statistics));
      all.push_back({"dst", image, role::destination, type});
      for (const std::string_view called :
           {"mean", "variance", "new_running_mean", "new_running_variance"}) {
        all.push_back(channels(called, role::destination));
      }
      return all;
    }
    all.push_back(channels("mean", role::statistics));
    all.push_back(variance("variance", role::statistics));
    all.push_back({"dst", image, role::destination, type});
    insert_addends(post, all);
    if (type == dtype::s8) rescale_to_integers(all);
    return all;
  }

  /// One multiplication and one addition per element. Training also has an addition for the mean,
  /// and a difference, a product and an addition for the variance. `bwd` has an addition for one
  /// sum, a difference, a product and an addition for the other, and five to combine them.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t an_element = p == pass::fwd ? 2 : p == pass::fwd_training ? 6 : 9;
    const std::int64_t flops = checked_product({an_element, n, c, h, w});
    return with_post_ops({0, flops, flops}, post, {n, c, h, w});
  }

 private:
  /// The libraries normalize stored integers without scales. The test data must use the range of
  /// s8, or results would be only a few units.
  static void rescale_to_integers(std::vector<operand>& all) {
    const auto set = [&](std::string_view called, double low, double high) {
      const auto found = std::ranges::find(all, called, &operand::name);
      if (found == all.end()) return;
      found->low = low;
      found->high = high;
    };
    for (operand& tensor : all) tensor.scale = 1;
    set("src", -127, 127);
    set("scale", 16, 48);
    set("shift", -16, 16);
    set("mean", -16, 16);
    set("variance", 2500, 10000);
  }
};

}  // namespace layerbench::op
