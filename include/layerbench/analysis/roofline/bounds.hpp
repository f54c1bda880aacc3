// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>

/// The bottlenecks of a step, and what would make it faster.
namespace layerbench::analysis {

/// Bytes that a call moves at least; nothing where its operands are unknown.
[[nodiscard]] std::optional<double> bytes(const layer_time& of);

/// FLOPs per byte, without those on padding.
[[nodiscard]] std::optional<double> arithmetic_intensity(const layer_time& of);

/// Share of its roof that a layer reaches. It may exceed 1: an algorithm such as Winograd's does
/// fewer operations than are counted.
[[nodiscard]] std::optional<double> share_of_roof(const layer_time& of);

/// Seconds of a step above the roof, all calls of the layer together. Negative for a layer above
/// 100 % of its peak.
[[nodiscard]] double seconds_above_roof(const layer_time& of);

/// Shares of the step by bottleneck, the largest first.
[[nodiscard]] share_list shares_by_bound(const prediction& p);

/// The layers with most time above their roofs, `most` at most.
[[nodiscard]] std::vector<layer_time> worth_optimising(const prediction& p, std::size_t most = 10);

/// A change, and the step's time with it.
struct what_if {
  std::string change;
  double seconds;
};

/// The step with all convolutions at their roofs, with all layers there, and with memory (the last
/// level) twice as fast, where each layer keeps its share of its peak. Empty for a step without a
/// time or without peaks.
[[nodiscard]] std::vector<what_if> what_ifs(const prediction& p);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/roofline/bounds-inl.hpp>
#endif
