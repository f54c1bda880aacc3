// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/shape/record.hpp>

/// How a step's time divides among its layers, by kind of op or by another property.
namespace layerbench::analysis {

/// Names with their shares of a step.
using share_list = std::vector<std::pair<std::string, double>>;

namespace detail {

/// Adds `share` to the entry of that name, which is created if needed.
inline void add_share(share_list& to, const std::string& name, double share) {
  auto known = std::ranges::find(to, name, &share_list::value_type::first);
  if (known == to.end()) known = to.insert(to.end(), {name, 0.0});
  known->second += share;
}

inline void sort_largest_first(share_list& shares) {
  std::ranges::stable_sort(shares, std::ranges::greater{}, &share_list::value_type::second);
}

}  // namespace detail

/// Shares of the step by `property(layer)`, the largest first.
template <class Property>
[[nodiscard]] share_list shares_by(const prediction& p, Property&& property) {
  share_list shares;
  for (const layer_time& layer : p.layers) {
    detail::add_share(shares, std::string(std::invoke(property, layer)), layer.share);
  }
  detail::sort_largest_first(shares);
  return shares;
}

/// Orders of a table of layers: by share of the step, time per call and FLOP/s, largest first; by
/// name and op; as the step runs them.
enum class layer_order : std::uint8_t { share, time, gflops, name, op, step };

[[nodiscard]] constexpr std::array<std::string_view, 6> list_names(layer_order /*tag*/) {
  return {"share", "time", "gflops", "name", "op", "step"};
}

[[nodiscard]] inline share_list shares_by_op(const prediction& p) {
  return shares_by(p, &layer_time::op);
}

/// All ops of several predictions, those with the largest sum of shares first.
[[nodiscard]] inline std::vector<std::string> ops_by_share(
    std::span<const prediction> predictions) {
  share_list totals;
  for (const prediction& p : predictions) {
    for (const auto& [op, share] : shares_by_op(p)) detail::add_share(totals, op, share);
  }
  detail::sort_largest_first(totals);
  const auto ops = std::views::keys(totals);
  return {ops.begin(), ops.end()};
}

/// Seconds of a step that all calls of an op take together.
[[nodiscard]] inline double seconds_of_op(const prediction& p, const std::string& op) {
  double seconds = 0;
  for (const layer_time& layer : p.layers) {
    if (layer.op == op) seconds += static_cast<double>(layer.count) * layer.seconds;
  }
  return seconds;
}

/// The layers, those with the largest share of the step first.
[[nodiscard]] inline std::vector<layer_time> heaviest_first(const prediction& p) {
  std::vector<layer_time> layers = p.layers;
  std::ranges::stable_sort(layers, std::ranges::greater{}, &layer_time::share);
  return layers;
}

/// The layers in an order.
[[nodiscard]] inline std::vector<layer_time> sorted_layers(const prediction& p, layer_order by) {
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
