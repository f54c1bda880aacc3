// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <ranges>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

namespace detail {

LAYERBENCH_INLINE void add_share(share_list& to, const std::string& name, double share) {
  auto known = std::ranges::find(to, name, &share_list::value_type::first);
  if (known == to.end()) known = to.insert(to.end(), {name, 0.0});
  known->second += share;
}

LAYERBENCH_INLINE void sort_largest_first(share_list& shares) {
  std::ranges::stable_sort(shares, std::ranges::greater{}, &share_list::value_type::second);
}

}  // namespace detail

LAYERBENCH_INLINE share_list shares_by_op(const prediction& p) {
  return shares_by(p, &layer_time::op);
}

LAYERBENCH_INLINE std::vector<std::string> ops_by_share(std::span<const prediction> predictions) {
  share_list totals;
  for (const prediction& p : predictions) {
    for (const auto& [op, share] : shares_by_op(p)) detail::add_share(totals, op, share);
  }
  detail::sort_largest_first(totals);
  const auto ops = std::views::keys(totals);
  return {ops.begin(), ops.end()};
}

LAYERBENCH_INLINE double seconds_of_op(const prediction& p, const std::string& op) {
  double seconds = 0;
  for (const layer_time& layer : p.layers) {
    if (layer.op == op) seconds += static_cast<double>(layer.count) * layer.seconds;
  }
  return seconds;
}

LAYERBENCH_INLINE std::vector<layer_time> heaviest_first(const prediction& p) {
  std::vector<layer_time> layers = p.layers;
  std::ranges::stable_sort(layers, std::ranges::greater{}, &layer_time::share);
  return layers;
}

LAYERBENCH_INLINE std::vector<layer_time> sorted_layers(const prediction& p, layer_order by) {
  std::vector<layer_time> layers = p.layers;
  const auto rate = [](const layer_time& of) { return of.flops.value_or(0) / of.seconds; };
  switch (by) {
    case layer_order::share: return heaviest_first(p);
    case layer_order::time:
      std::ranges::stable_sort(layers, std::ranges::greater{}, &layer_time::seconds);
      break;
    case layer_order::gflops: std::ranges::stable_sort(layers, std::ranges::greater{}, rate); break;
    case layer_order::name: std::ranges::stable_sort(layers, {}, &layer_time::call_name); break;
    case layer_order::op: std::ranges::stable_sort(layers, {}, &layer_time::op); break;
    case layer_order::step: break;
  }
  return layers;
}

}  // namespace layerbench::analysis
