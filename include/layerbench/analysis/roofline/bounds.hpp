// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/analysis/predict/prediction.hpp>

/// What a step's time is bound by, and what would help.
namespace layerbench::analysis {

/// Bytes that a call moves at least.
[[nodiscard]] inline std::optional<double> bytes(const layer_time& of) {
  if (of.traffic.empty()) return std::nullopt;
  double sum = 0;
  for (const result::operand_traffic& operand_traffic : of.traffic)
    sum += static_cast<double>(operand_traffic.bytes);
  return sum;
}

/// FLOPs, none on padding, a byte.
[[nodiscard]] inline std::optional<double> arithmetic_intensity(const layer_time& of) {
  const auto operand_traffic = bytes(of);
  if (!operand_traffic || *operand_traffic == 0 || !of.flops) return std::nullopt;
  return *of.flops / *operand_traffic;
}

/// Share of its roof that a layer reaches. More than 1 is no error: an algorithm such as Winograd's
/// does fewer operations than are counted.
[[nodiscard]] inline std::optional<double> share_of_peak(const layer_time& of) {
  if (!of.roofs) return std::nullopt;
  return of.roofs->seconds() / of.seconds;
}

/// Seconds of a step above the roof, all calls of the layer together; below it for one above 100 %.
[[nodiscard]] inline double seconds_above(const layer_time& of) {
  return of.roofs ? static_cast<double>(of.count) * (of.seconds - of.roofs->seconds()) : 0;
}

/// The layers with most time above their roofs, at most so many.
[[nodiscard]] inline std::vector<layer_time> worth_optimising(const prediction& p,
                                                              std::size_t most = 10) {
  std::vector<layer_time> layers = p.layers;
  std::erase_if(layers, [](const layer_time& time) { return seconds_above(time) <= 0; });
  std::ranges::stable_sort(layers, std::ranges::greater{}, &seconds_above);
  if (layers.size() > most) layers.resize(most);
  return layers;
}

/// The step if something were otherwise.
struct what_if {
  std::string change;
  double seconds;
};

namespace detail {

/// The step's seconds where calls take as long as `changed(layer)` says.
template <class Changed>
[[nodiscard]] double step_with(const prediction& p, Changed&& changed) {
  double seconds = p.step->seconds;
  for (const layer_time& layer : p.layers) {
    if (layer.roofs) seconds += static_cast<double>(layer.count) * (changed(layer) - layer.seconds);
  }
  return seconds;
}

[[nodiscard]] inline double at_roof(const layer_time& of) {
  return std::min(of.seconds, of.roofs->seconds());
}

}  // namespace detail

/// Convolutions, and all layers, at their roofs; memory (the last level) twice as fast, where each
/// layer stays as far from its roof as it is. Nothing for a step without a time or without peaks.
[[nodiscard]] inline std::vector<what_if> what_ifs(const prediction& p) {
  if (!p.step || !p.limits) return {};
  std::vector<what_if> all;
  const auto is_conv = [](const layer_time& element) { return element.op == "conv"; };
  if (std::ranges::any_of(p.layers, is_conv)) {
    all.push_back({"all convolutions at their peak", detail::step_with(p, [&](const auto& item) {
                     return is_conv(item) ? detail::at_roof(item) : item.seconds;
                   })});
  }
  peaks faster = *p.limits;
  memory_level& last = faster.levels.back();
  for (double* value : {&last.read, &last.write, &last.copy}) *value *= 2;
  all.push_back({"memory twice as fast", detail::step_with(p, [&](const layer_time& time) {
                   const auto traffic = p.cache == "hot" ? hot(time.traffic) : time.traffic;
                   const roofs then = roofs_of(*time.flops, traffic, faster);
                   return time.seconds * then.seconds() / time.roofs->seconds();
                 })});
  all.push_back({"every layer at its peak", detail::step_with(p, &detail::at_roof)});
  return all;
}

}  // namespace layerbench::analysis
