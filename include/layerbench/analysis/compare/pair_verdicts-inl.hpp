// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <layerbench/analysis/compare/pair_verdicts.hpp>
#include <layerbench/analysis/compare/sign_flip_test.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

namespace detail {

/// The change in standard errors whose t exceeds `critical` with probability 0.9, by the
/// approximate distribution of the noncentral t (Johnson and Welch, Applications of the Non-central
/// t-Distribution, 1940).
[[nodiscard]] inline double found_in_most(double critical, double degrees_of_freedom) {
  constexpr double normal_quantile = 1.2815515655446004;  // of 0.9
  return critical * (1 - 1 / (4 * degrees_of_freedom)) +
         normal_quantile * std::sqrt(1 + critical * critical / (2 * degrees_of_freedom));
}

/// The looks at `plan.pairs` pairs, the last one at all of them.
[[nodiscard]] inline std::vector<look> looks_of(const pair_plan& plan) {
  if (plan.most == 0) return {{plan.pairs, 1}};
  std::vector<look> all = looks_until(std::max(plan.most, plan.pairs));
  const auto last =
      std::ranges::find_if(all, [&](const look& one) { return one.pairs >= plan.pairs; });
  all.erase(last + 1, all.end());
  all.back().pairs = plan.pairs;
  return all;
}

/// The p of ratios that were looked at once, adjusted for their number, and the |t| that has a p of
/// `level`.
struct one_look {
  std::vector<double> p;
  double critical;
};

[[nodiscard]] inline one_look look_at(std::span<compared* const> all, std::size_t pairs,
                                      double level) {
  if (pairs >= min_flipped_pairs) {
    std::vector<const log_ratios*> rows;
    for (const compared* one : all) rows.push_back(&one->pairs);
    const sign_flip_test test(rows, pairs, level);
    return {test.p(), test.critical_t(level)};
  }
  std::vector<double> p;
  for (const compared* one : all) p.push_back(one->ratio.p.value_or(1));
  const double of_first = level / static_cast<double>(std::max<std::size_t>(1, all.size()));
  return {stats::holm(p), pairs < min_pairs ? std::numeric_limits<double>::infinity()
                                            : stats::student_t_quantile(
                                                  static_cast<double>(pairs) - 1, 1 - of_first)};
}

/// How far an interval reaches: quantiles of Student's distribution.
struct interval_quantiles {
  double usual;   ///< of the interval of 95 %
  double looked;  ///< of one that allows for all looks
  double most;    ///< below which 9 of 10 lie
};

[[nodiscard]] inline interval_quantiles quantiles_of(double degrees_of_freedom, double share) {
  return {stats::student_t_quantile(degrees_of_freedom, 0.95),
          stats::student_t_quantile(degrees_of_freedom, 1 - 0.05 * share),
          stats::student_t_quantile(degrees_of_freedom, 0.8)};
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<look> looks_until(std::size_t most) {
  constexpr double first = 12;
  constexpr double growth = 4. / 3;
  constexpr double worth_it = 1.15;  // a look at fewer pairs than this before the last one is not
  std::vector<look> all;
  for (double pairs = first; pairs * worth_it < static_cast<double>(most); pairs *= growth) {
    all.push_back({static_cast<std::size_t>(std::lround(pairs)), 0});
  }
  all.push_back({most, 0});
  // Of 12 pairs p is at least 2 / 2^12: no part of many looks at two lists.
  constexpr double families = 2;
  const double least_p = std::exp2(1 - first);
  const double part = pair_significance / (families * static_cast<double>(all.size()));
  if (all.size() > 1 && least_p >= part) all.erase(all.begin());
  for (look& one : all) one.share = 1 / static_cast<double>(all.size());
  return all;
}

namespace detail {

LAYERBENCH_INLINE bool set_pair_verdicts(std::span<compared* const> all, std::size_t families,
                                         const pair_plan& plan) {
  const std::vector<look> looks = looks_of(plan);
  for (compared* one : all) one->p = 1;
  double critical = 0;
  for (const look& at : looks) {
    const double share = at.share / static_cast<double>(families);
    const one_look seen = look_at(all, at.pairs, pair_significance * share);
    critical = seen.critical;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i]->p = std::min(all[i]->p, seen.p[i] / share);
    }
  }
  std::map<std::size_t, interval_quantiles> quantiles;
  bool sure = true;
  for (compared* one : all) {
    const time_ratio& ratio = one->ratio;
    one->verdict = verdict_on(ratio, one->p, pair_significance, plan.margin);
    one->detectable.reset();
    sure = sure && one->verdict != verdict::unclear;
    if (!ratio.p || !std::isfinite(critical)) continue;
    const double freedom = static_cast<double>(ratio.old_rounds) - 1;
    const auto found = quantiles.try_emplace(ratio.old_rounds);
    interval_quantiles& of = found.first->second;
    if (found.second) of = quantiles_of(freedom, looks.back().share);
    const double error = std::log(ratio.high / ratio.value()) / of.usual;
    const double beyond = std::log1p(plan.margin) - error * (of.usual - of.most);
    const bool tested = plan.pairs < min_flipped_pairs || ratio.old_rounds >= min_flipped_pairs;
    if (tested) {
      one->detectable = std::expm1(std::max(error * found_in_most(critical, freedom), beyond));
    }
    const double width = std::exp(error * of.looked);
    sure = sure &&
           (one->changed() || is_within(ratio.value() / width, ratio.value() * width, plan.margin));
  }
  return sure;
}

}  // namespace detail

LAYERBENCH_INLINE double detectable_deviations(std::size_t pairs) {
  const auto n = static_cast<double>(pairs);
  const double critical = stats::student_t_quantile(n - 1, 1 - pair_significance / 2);
  const bool assumed = least_deviation(pairs) > 0;  // then t does not vary with the deviation
  return (assumed ? critical : detail::found_in_most(critical, n - 1)) / std::sqrt(n);
}

}  // namespace layerbench::analysis
