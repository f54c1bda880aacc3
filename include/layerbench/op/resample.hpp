// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class resample_kind { nearest, bilinear };

[[nodiscard]] constexpr std::array<std::string_view, 2> list_names(resample_kind /*tag*/) {
  return {"nearest", "bilinear"};
}

/// Another size of each image, as between the scales of detectors, U-Nets and models of
/// segmentation. Pixels are squares of equal size, whose values are those at their centres:
/// `bilinear` interpolates between centres, and repeats the outermost ones beyond them; `nearest`
/// copies each pixel to a block of p/h by q/w pixels.
struct resample {
  static constexpr std::string_view name = "resample";

  resample_kind kind = resample_kind::bilinear;
  std::int64_t n = 1, c = 1, h = 1, w = 1, p = 1, q = 1;

  static constexpr auto fields = std::tuple{
      required("kind", &resample::kind, "nearest or bilinear"),
      required("n", &resample::n, "images in a batch"),
      required("c", &resample::c, "channels"),
      required("h", &resample::h, "input height"),
      required("w", &resample::w, "input width"),
      required("p", &resample::p, "output height"),
      required("q", &resample::q, "output width"),
  };

  void validate() const {
    if (kind == resample_kind::bilinear) return;
    if (p % h != 0) throw invalid_field("p", "must be a multiple of h for nearest");
    if (q % w != 0) throw invalid_field("q", "must be a multiple of w for nearest");
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::bwd}; }

  /// src n*c*h*w, dst n*c*p*q, gradients alike.
  [[nodiscard]] std::vector<operand> operands(pass pass, dtype type) const {
    const dims input{n, c, h, w};
    const dims output{n, c, p, q};
    if (pass == pass::bwd) {
      return {{"diff_dst", output, role::source, type},
              {"diff_src", input, role::destination, type}};
    }
    return {{"src", input, role::source, type}, {"dst", output, role::destination, type}};
  }

  /// Of a bilinear element: four multiplications and three additions. A copy computes nothing.
  [[nodiscard]] op::work work(pass /*p*/) const {
    const std::int64_t outputs = checked_product({n, c, p, q});
    if (kind == resample_kind::nearest) return {0, 0, 0};
    constexpr std::int64_t per_output = 7;
    const std::int64_t flops = checked_multiply(per_output, outputs);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
