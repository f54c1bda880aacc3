// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/analysis/compare/timed_sum.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE timed_sum::timed_sum(std::span<const term> terms) {
  const detail::varying_sum sum = detail::vary(terms);
  seconds = sum.seconds;
  rounds = sum.rounds;
  if (!has_enough_rounds()) return;
  for (const auto& [round, influence] : sum.by_round) variance += influence * influence;
  variance *= rounds / (rounds - 1);
}

LAYERBENCH_INLINE bool timed_sum::has_enough_rounds() const {
  return detail::whole_rounds(rounds) >= stats::min_sample_size;
}

namespace detail {

LAYERBENCH_INLINE void rounds_variance::add(const timed_sum& of, double weight) {
  if (!of.has_enough_rounds()) return;
  const double weighted = of.variance * weight;
  value_ += weighted;
  by_freedom_ += weighted * weighted / (of.rounds - 1);
  freedom_ += of.rounds - 1;
}

LAYERBENCH_INLINE std::optional<variance> rounds_variance::total() const {
  if (freedom_ == 0) return std::nullopt;
  return variance{value_, by_freedom_ == 0 ? freedom_ : value_ * value_ / by_freedom_};
}

}  // namespace detail

}  // namespace layerbench::analysis
