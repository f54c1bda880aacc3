// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <layerbench/analysis/compare/paired_ratio.hpp>
#include <layerbench/analysis/compare/verdict.hpp>

/// Verdicts on pairs that are looked at several times while they are measured.
namespace layerbench::analysis {

/// The probability of one or more false alarms in a comparison of pairs, at most: of
/// `min_flipped_pairs` or more in random order, of fewer if noise is normal.
inline constexpr double pair_significance = 0.005;

/// A look at the pairs that there are.
struct look {
  std::size_t pairs;
  double share;  ///< of the probability of a false alarm
};

/// The looks at up to `most` pairs, with equal shares: from 12 pairs on (from 16 with six looks or
/// more, whose shares 12 pairs cannot reach), each at a third more.
[[nodiscard]] std::vector<look> looks_until(std::size_t most);

/// How the verdicts on pairs are reached.
struct pair_plan {
  std::size_t pairs = 0;  ///< there are
  std::size_t most = 0;   ///< would be measured; 0: the number was fixed, so this is the only look
  double margin = 0;
};

namespace detail {

/// The same of one list; `families` lists share the probability of a false alarm.
bool set_pair_verdicts(std::span<compared* const> all, std::size_t families, const pair_plan& plan);

}  // namespace detail

/// Sets p, verdicts and detectable changes of lists of pairs, whose types derive from compared.
/// With fewer than `min_flipped_pairs` pairs the p of a list is Student's, adjusted by Holm's
/// method, else that of sign_flip_test. The p of each look is divided by the look's share, and by
/// that of the list; the smallest one counts. So the probability of one or more false alarms, over
/// all lists and looks, is at most `pair_significance`, under its conditions. Returns whether the
/// verdicts are sure, so that no further pair is needed: none is unclear, and those that are the
/// same would be so by an interval that allows for all looks.
template <class... Lists>
bool set_pair_verdicts(const pair_plan& plan, Lists&... lists) {
  const std::size_t families = (std::size_t{!lists.empty()} + ...);
  const auto set_verdicts_of = [&](auto& list) {
    std::vector<compared*> all;
    for (compared& one : list) all.push_back(&one);
    return detail::set_pair_verdicts(all, families, plan);
  };
  const std::array sure{set_verdicts_of(lists)...};
  return std::ranges::all_of(sure, std::identity());
}

/// The smallest change of a single ratio, such as that of the only model beside a list of layers,
/// that 9 of 10 comparisons by that many pairs (at least `min_pairs`) find, in standard deviations
/// of the logarithms of the pairs' ratios (or of `least_deviation`).
[[nodiscard]] double detectable_deviations(std::size_t pairs);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/pair_verdicts-inl.hpp>
#endif
