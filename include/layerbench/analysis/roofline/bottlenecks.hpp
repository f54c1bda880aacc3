// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>

/// The bottlenecks of a step, and what would make it faster.
namespace layerbench::analysis {

/// A change, and the step's time with it.
struct what_if {
  std::string change;
  double seconds;
};

/// Bytes that a call moves at least; nothing where its operands are unknown.
[[nodiscard]] inline std::optional<double> bytes(const layer_time& of) {
  if (of.traffic.empty()) return std::nullopt;
  double sum = 0;
  for (const result::operand_traffic& operand : of.traffic) {
    sum += static_cast<double>(operand.bytes);
  }
  return sum;
}

/// FLOPs per byte, without those on padding.
[[nodiscard]] inline std::optional<double> arithmetic_intensity(const layer_time& of) {
  const std::optional<double> moved = bytes(of);
  if (!moved || *moved == 0 || !of.flops) return std::nullopt;
  return *of.flops / *moved;
}

/// Share of its roof that a layer reaches. It may exceed 1: an algorithm such as Winograd's does
/// fewer operations than are counted.
[[nodiscard]] inline std::optional<double> share_of_roof(const layer_time& of) {
  if (!of.roofs) return std::nullopt;
  return of.roofs->seconds() / of.seconds;
}

/// Seconds of a step above the roof, all calls of the layer together. Negative for a layer above
/// 100 % of its peak.
[[nodiscard]] inline double seconds_above_roof(const layer_time& of) {
  return of.roofs ? static_cast<double>(of.count) * (of.seconds - of.roofs->seconds()) : 0;
}

/// Shares of the step by bottleneck, the largest first.
[[nodiscard]] inline share_list shares_by_bound(const prediction& p) {
  return shares_by(p, [](const layer_time& layer) {
    return layer.roofs ? layer.roofs->bound() : std::string("unknown");
  });
}

/// The layers with most time above their roofs, `most` at most.
[[nodiscard]] inline std::vector<layer_time> worth_optimising(const prediction& p,
                                                              std::size_t most = 10) {
  std::vector<layer_time> layers = p.layers;
  std::erase_if(layers, [](const layer_time& layer) { return seconds_above_roof(layer) <= 0; });
  std::ranges::stable_sort(layers, std::ranges::greater{}, &seconds_above_roof);
  if (layers.size() > most) layers.resize(most);
  return layers;
}

namespace detail {

/// Seconds of the step if each call of a layer took `seconds_of(layer)`.
template <class SecondsOf>
[[nodiscard]] double step_with(const prediction& p, SecondsOf&& seconds_of) {
  double seconds = p.step->seconds;
  for (const layer_time& layer : p.layers) {
    if (!layer.roofs) continue;
    seconds += static_cast<double>(layer.count) * (seconds_of(layer) - layer.seconds);
  }
  return seconds;
}

[[nodiscard]] inline double at_roof(const layer_time& of) {
  return std::min(of.seconds, of.roofs->seconds());
}

}  // namespace detail

/// The step with all convolutions at their roofs, with all layers there, and with memory (the last
/// level) twice as fast, where each layer keeps its share of its peak. Empty for a step without a
/// time or without peaks.
[[nodiscard]] inline std::vector<what_if> what_ifs(const prediction& p) {
  if (!p.step || !p.limits) return {};
  std::vector<what_if> all;
  const auto is_conv = [](const layer_time& layer) { return layer.op == "conv"; };
  if (std::ranges::any_of(p.layers, is_conv)) {
    all.push_back({"all convolutions at their peak", detail::step_with(p, [&](const auto& layer) {
                     return is_conv(layer) ? detail::at_roof(layer) : layer.seconds;
                   })});
  }
  peaks faster = *p.limits;
  memory_level& last = faster.levels.back();
  for (double* bandwidth : {&last.read, &last.write, &last.copy}) *bandwidth *= 2;
  all.push_back({"memory twice as fast", detail::step_with(p, [&](const layer_time& layer) {
                   const auto traffic = p.cache == "hot" ? hot(layer.traffic) : layer.traffic;
                   const roofs raised = roofs_of(*layer.flops, traffic, faster);
                   return layer.seconds * raised.seconds() / layer.roofs->seconds();
                 })});
  all.push_back({"every layer at its peak", detail::step_with(p, &detail::at_roof)});
  return all;
}

}  // namespace layerbench::analysis
