// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/ratio.hpp>
#include <layerbench/analysis/compare/sign_flip_test.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/shape/record.hpp>

/// Verdicts on ratios of times.
namespace layerbench::analysis {

/// The verdict on a ratio of times.
enum class verdict : std::uint8_t {
  faster,   ///< significantly below 1
  slower,   ///< significantly above 1
  same,     ///< the interval lies inside the margin
  unclear,  ///< none of these: the timings vary too much, or are too few
};

[[nodiscard]] constexpr std::array<std::string_view, 4> list_names(verdict /*tag*/) {
  return {"faster", "slower", "same", "unclear"};
}

/// A ratio among others, with its verdict.
struct compared {
  time_ratio ratio;
  double p = 1;  ///< adjusted for the number of ratios, and of times that they were looked at
  analysis::verdict verdict = verdict::unclear;
  /// The smallest change that 9 of 10 such comparisons find, 0.02 for 2 %. Only of pairs with a p.
  std::optional<double> detectable = {};
  log_ratios pairs = {};          ///< where runs are paired
  std::string unit = "s";         ///< of the values; empty: unknown
  bool higher_is_better = false;  ///< the ratio is old / new then, and seconds are 1 / value

  /// A number of the ratio in `unit`.
  [[nodiscard]] double value(double seconds) const {
    return higher_is_better ? 1 / seconds : seconds;
  }
  [[nodiscard]] bool changed() const {
    return verdict == verdict::faster || verdict == verdict::slower;
  }
};

/// The p below which a ratio is faster or slower: a false alarm is worse than an unclear verdict.
inline constexpr double significance = 0.01;

namespace detail {

/// Whether [low, high] lies inside [1 / (1 + margin), 1 + margin].
[[nodiscard]] inline bool is_within(double low, double high, double margin) {
  return low >= 1 / (1 + margin) && high <= 1 + margin;
}

/// The verdict on a ratio with the adjusted p value `p`. It differs from 1 if p is below `level`
/// and the interval does not hold 1: an outlier among pairs widens the interval more than it raises
/// a p of exchanges.
[[nodiscard]] inline verdict verdict_on(const time_ratio& ratio, double p, double level,
                                        double margin) {
  if (!ratio.p) return verdict::unclear;
  if (is_within(ratio.low, ratio.high, margin)) return verdict::same;
  if (p >= level || (ratio.low <= 1 && ratio.high >= 1)) return verdict::unclear;
  return ratio.value() < 1 ? verdict::faster : verdict::slower;
}

/// The same where small differences are not named, however sure they are.
[[nodiscard]] inline verdict verdict_beyond_margin(const compared& of, double margin) {
  const verdict found = verdict_on(of.ratio, of.p, significance, margin);
  const double ratio = of.ratio.value();
  const bool small = ratio <= 1 + margin && ratio >= 1 / (1 + margin);
  return small && found != verdict::same ? verdict::unclear : found;
}

}  // namespace detail

/// Sets the verdicts of `all`, whose type derives from compared. An interval inside
/// [1 / (1 + margin), 1 + margin] is `same`, even if the difference is significant. Else a ratio is
/// `faster` or `slower` if its p, adjusted by Holm's method, is below 1 %.
template <class Compared>
void set_verdicts(std::vector<Compared>& all, double margin) {
  std::vector<double> p;
  for (const Compared& one : all) p.push_back(one.ratio.p.value_or(1));
  const std::vector<double> adjusted = stats::holm(p);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].p = adjusted[i];
    all[i].verdict = detail::verdict_on(all[i].ratio, adjusted[i], significance, margin);
  }
}

}  // namespace layerbench::analysis
