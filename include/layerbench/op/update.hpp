// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class update_rule { sgd, momentum, adam, zero, accumulate };

[[nodiscard]] constexpr std::array<std::string_view, 5> list_names(update_rule /*tag*/) {
  return {"sgd", "momentum", "adam", "zero", "accumulate"};
}

/// The rules of optimizers.
inline constexpr std::span optimizers = std::span(enum_names<update_rule>).first<3>();

/// The update of weights w with gradients g, in one tensor or several, by the rule of an optimizer:
/// sgd: w - rate * g; momentum: v = 0.9 v + g + decay * w, w - rate * v (Sutskever et al. 2013, as
/// frameworks write it); adam: m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g^2, w - rate * m /
/// (sqrt(v) + 1e-8) (Kingma and Ba 2015, algorithm 1, past its first steps). And what becomes of
/// gradients that are added up in a sum s: zero: 0; accumulate: s + g.
struct update {
  static constexpr std::string_view name = "update";
  static constexpr bool overwrites_source = true;

  update_rule rule = update_rule::momentum;
  dims sizes;
  double rate = 0.01;
  bool wide = false;

  static constexpr auto fields = std::tuple{
      required("rule", &update::rule, "sgd, momentum, adam; of gradients zero, accumulate"),
      required("sizes", &update::sizes, "elements of each tensor"),
      optional("rate", &update::rate, "how far a step goes"),
      optional("wide", &update::wide, "whether gradients are f32 in every data type"),
  };

  static constexpr double decay = 1e-4;
  static constexpr double beta1 = 0.9;
  static constexpr double beta2 = 0.999;
  static constexpr double epsilon = 1e-8;

  void validate() const {
    if (rate <= 0 || rate > 1) throw invalid_field("rate", "must lie above 0 and not above 1");
  }

  /// States per parameter that the rule keeps.
  [[nodiscard]] std::size_t states() const {
    switch (rule) {
      case update_rule::momentum: return 1;
      case update_rule::adam: return 2;
      default: return 0;
    }
  }

  /// For each tensor: weights, diff_weights, the rule's states `moment` and `second_moment`, then
  /// `new_weights` and the new states, usually in the same memory. Weights and states are f32 (f64
  /// in f64). For 16-bit types the copy that the other ops read is written too, as `weights16`,
  /// unless `wide`: then the other ops read f32. Rule zero writes sum; accumulate has sum,
  /// diff_weights and new_sum.
  [[nodiscard]] std::vector<operand> operands(pass /*p*/, dtype type) const {
    const dtype fine = type == dtype::f64 ? dtype::f64 : dtype::f32;
    constexpr std::array<std::string_view, 2> old_states{"moment", "second_moment"};
    constexpr std::array<std::string_view, 2> new_states{"new_moment", "new_second_moment"};
    std::vector<operand> all;
    for (const std::int64_t size : sizes) {
      const dtype rough = wide ? fine : type;
      const operand gradient{"diff_weights", {size}, role::source, rough};
      if (rule == update_rule::zero) {
        all.push_back({"sum", {size}, role::destination, rough});
        continue;
      }
      if (rule == update_rule::accumulate) {
        all.push_back({"sum", {size}, role::source, rough});
        all.push_back(gradient);
        all.push_back({"new_sum", {size}, role::destination, rough});
        continue;
      }
      all.push_back({"weights", {size}, role::weights, fine});
      all.push_back(gradient);
      for (std::size_t i = 0; i < states(); ++i) {
        all.push_back({old_states.at(i), {size}, role::statistics, fine, i == 0 ? -1.0 : 0.0});
      }
      all.push_back({"new_weights", {size}, role::destination, fine});
      for (std::size_t i = 0; i < states(); ++i) {
        all.push_back({new_states.at(i), {size}, role::destination, fine});
      }
      const bool narrow = traits(type).bytes < traits(fine).bytes;
      if (narrow && !wide) all.push_back({"weights16", {size}, role::destination, type});
    }
    return all;
  }

  /// Operations per parameter, counted in the formulas above: 2, 6, 12, 0 or 1.
  [[nodiscard]] op::work work(pass /*p*/) const {
    constexpr std::array<std::int64_t, 5> a_parameter{2, 6, 12, 0, 1};
    std::int64_t parameters = 0;
    for (const std::int64_t size : sizes) parameters = checked_add(parameters, size);
    const std::int64_t flops =
        checked_multiply(a_parameter.at(static_cast<std::size_t>(rule)), parameters);
    return {0, flops, flops};
  }
};

}  // namespace layerbench::op
