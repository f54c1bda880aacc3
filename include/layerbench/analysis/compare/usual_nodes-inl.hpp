// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include <layerbench/analysis/compare/usual_nodes.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/stats.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE node_sum::node_sum(std::span<const term> terms) {
  const detail::varying_sum sum = detail::vary(terms);
  seconds = sum.seconds;
  rounds = sum.rounds;
  if (!has_enough_rounds()) return;
  for (const auto& [round, influence] : sum.by_round) variance += influence * influence;
  variance *= rounds / (rounds - 1);
}

LAYERBENCH_INLINE bool node_sum::has_enough_rounds() const {
  return detail::whole_rounds(rounds) >= stats::min_sample_size;
}

namespace detail {

using node_indices = std::vector<std::size_t>;

[[nodiscard]] inline double mean_logarithm(std::span<const node_sum> all, const node_indices& of) {
  double sum = 0;
  for (const std::size_t i : of) sum += std::log(all[i].seconds);
  return sum / static_cast<double>(of.size());
}

/// Without the node `one`.
[[nodiscard]] inline node_indices without(node_indices all, std::size_t one) {
  std::erase(all, one);
  return all;
}

/// The variance of the logarithm of one node's time, divided by the mean of `others`, from the
/// scatter of the others: what differs between equal nodes and between runs.
[[nodiscard]] inline variance between_nodes(std::span<const node_sum> all,
                                            const node_indices& others) {
  const auto n = static_cast<double>(others.size());
  const double mean = mean_logarithm(all, others);
  double squares = 0;
  for (const std::size_t i : others) squares += std::pow(std::log(all[i].seconds) - mean, 2);
  return {squares / (n - 1) * (1 + 1 / n), n - 1};
}

/// The same from the differences between the rounds of each node, with Welch's degrees of freedom.
[[nodiscard]] inline variance within_nodes(std::span<const node_sum> all,
                                           const node_indices& others, std::size_t node) {
  const auto n = static_cast<double>(others.size());
  double value = 0;
  double by_freedom = 0;
  double freedom = 0;
  const auto add = [&](const node_sum& sum, double weight) {
    const double of_node = sum.variance * weight;
    value += of_node;
    by_freedom += of_node * of_node / (sum.rounds - 1);
    freedom += sum.rounds - 1;
  };
  add(all[node], 1);
  for (const std::size_t i : others) add(all[i], 1 / (n * n));
  return {value, by_freedom == 0 ? freedom : value * value / by_freedom};
}

/// The time of a node divided by the geometric mean of `others`, with the interval and p of their
/// scatter alone.
[[nodiscard]] inline time_ratio scatter_ratio(std::span<const node_sum> all,
                                              const node_indices& others, std::size_t node) {
  double rounds = 0;
  for (const std::size_t i : others) rounds += all[i].rounds;
  time_ratio ratio{std::exp(mean_logarithm(all, others)), all[node].seconds, whole_rounds(rounds),
                   whole_rounds(all[node].rounds)};
  ratio.low = ratio.high = ratio.value();
  widen(between_nodes(all, others), ratio);
  return ratio;
}

/// The same with the wider of both intervals and the larger p. Without p if the node has too few
/// rounds.
[[nodiscard]] inline time_ratio ratio_to(std::span<const node_sum> all, const node_indices& others,
                                         std::size_t node) {
  time_ratio ratio = scatter_ratio(all, others, node);
  if (all[node].has_enough_rounds()) {
    widen(within_nodes(all, others, node), ratio);
  } else {
    ratio.p.reset();
  }
  return ratio;
}

/// The p values of outliers, adjusted for the number of nodes, by node; 1 where a node belongs to
/// the majority. All nodes below a level are outliers at that level. A node that is removed first
/// gets the p of a later one if that is smaller, so p must not depend on the rounds of a node.
[[nodiscard]] inline std::vector<double> outlier_p_values(std::span<const node_sum> all,
                                                          node_indices left) {
  std::vector<double> adjusted(all.size(), 1);
  const std::size_t most = (left.size() - 1) / 2;
  // Simulations: several steps find twice as many false outliers as a single one.
  const double steps = most > 1 ? 2 : 1;
  std::vector<std::pair<std::size_t, double>> removed;
  while (removed.size() < most) {
    const double mean = mean_logarithm(all, left);
    const auto farthest = std::ranges::max_element(
        left, {}, [&](std::size_t i) { return std::abs(std::log(all[i].seconds) - mean); });
    const std::size_t node = *farthest;
    const double tests = steps * static_cast<double>(left.size());
    left = without(std::move(left), node);
    removed.emplace_back(node, std::min(1.0, tests * *scatter_ratio(all, left, node).p));
  }
  double least = 1;
  for (const auto& [node, p] : std::views::reverse(removed)) {
    least = std::min(least, p);
    adjusted[node] = least;
  }
  return adjusted;
}

/// The verdict on a node. Small differences are not named, however sure they are.
[[nodiscard]] inline verdict verdict_on_node(const compared& of, double margin) {
  const verdict found = verdict_on(of.ratio, of.p, significance, margin);
  const double ratio = of.ratio.value();
  const bool small = ratio <= 1 + margin && ratio >= 1 / (1 + margin);
  return small && found != verdict::same ? verdict::unclear : found;
}

}  // namespace detail

LAYERBENCH_INLINE nodes_compared compare_with_usual(std::span<const node_sum> all,
                                                    std::size_t tests, double margin) {
  detail::node_indices tested;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].has_enough_rounds()) tested.push_back(i);
  }
  const bool can_test = tested.size() >= min_nodes;
  nodes_compared result;
  std::vector<double> p(all.size(), 1);
  if (can_test) p = detail::outlier_p_values(all, tested);
  detail::node_indices usual;
  for (std::size_t i = 0; i < all.size(); ++i) {
    p[i] = std::min(1.0, p[i] * static_cast<double>(tests));
    const bool counts = p[i] >= significance && (!can_test || all[i].has_enough_rounds());
    result.usual.push_back(counts);
    if (counts) usual.push_back(i);
  }
  result.usual_seconds = std::exp(detail::mean_logarithm(all, usual));
  for (std::size_t i = 0; i < all.size(); ++i) {
    compared& node = result.nodes.emplace_back();
    node.ratio = detail::ratio_to(all, detail::without(usual, i), i);
    if (!can_test) node.ratio.p.reset();
    const double own = node.ratio.p.value_or(1) * static_cast<double>(tested.size() * tests);
    node.p = std::max(p[i], std::min(1.0, own));
    node.verdict = detail::verdict_on_node(node, margin);
  }
  return result;
}

}  // namespace layerbench::analysis
