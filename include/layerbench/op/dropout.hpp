// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Dropout (Srivastava et al., JMLR 15, 2014) as frameworks train with it: elements become 0 with
/// probability `rate`, the others are divided by 1 - rate. Which ones follows from a seed, which
/// each call counts up. Inference does without it.
struct dropout {
  static constexpr std::string_view name = "dropout";

  double rate = 0.5;
  layerbench::dims dims;

  static constexpr auto fields = std::tuple{
      optional("rate", &dropout::rate, "probability of becoming 0"),
      required("dims", &dropout::dims, "extents of the tensor"),
  };

  void validate() const {
    if (rate < 0 || rate >= 1) throw invalid_field("rate", "must be at least 0 and below 1");
  }

  static std::vector<pass> passes() { return {pass::fwd_training, pass::bwd}; }

  /// src and dst of extents dims, gradients alike; the seed, one number; mask of extents dims: 1
  /// where an element is kept, else 0.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const operand mask{"mask", dims, role::source, dtype::s8, 0, 1, 1, true};
    if (p == pass::bwd) {
      return {{"diff_dst", dims, role::source, type},
              mask,
              {"diff_src", dims, role::destination, type}};
    }
    std::vector<operand> all{{"src", dims, role::source, type}};
    constexpr double most_seeds = 1 << 20;
    if (p == pass::fwd_training) {
      all.push_back({"seed", {1}, role::statistics, dtype::f32, 0, most_seeds});
    }
    all.push_back({"dst", dims, role::destination, type});
    if (p == pass::fwd_training) {
      all.push_back(mask);
      all.back().role = role::destination;
      all.push_back({"new_seed", {1}, role::destination, dtype::f32});
    }
    return all;
  }

  /// A comparison and a multiplication per element; gradients have only the multiplication.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t flops = checked_multiply(p == pass::bwd ? 1 : 2, elements(dims));
    return {0, flops, flops};
  }

  /// Whether element `index`, row-major, is kept: by 32 bits that are mixed as MurmurHash3 ends
  /// (Appleby).
  [[nodiscard]] bool keeps(float seed, std::int64_t index) const {
    std::uint32_t bits =
        static_cast<std::uint32_t>(index) * 0x9E3779B9U ^ std::bit_cast<std::uint32_t>(seed);
    bits = (bits ^ bits >> 16U) * 0x85EBCA6BU;
    bits = (bits ^ bits >> 13U) * 0xC2B2AE35U;
    return (bits ^ bits >> 16U) >= keep_threshold();
  }
  [[nodiscard]] std::uint32_t keep_threshold() const {
    return static_cast<std::uint32_t>(rate * 0x1p32);
  }

  /// The factor of kept elements.
  [[nodiscard]] float factor() const { return static_cast<float>(1 / (1 - rate)); }
};

}  // namespace layerbench::op
