// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/roofline.hpp>
#include <layerbench/base/table.hpp>

/// Peaks of a device, and what limits a step, as text.
namespace layerbench::analysis {

/// A bandwidth in GB/s or a rate in GFLOP/s; empty for 0.
[[nodiscard]] std::string giga(double per_second);

/// GFLOP/s without the FLOPs on padding; empty for layers that have none.
[[nodiscard]] std::string gigaflops(const layer_time& layer);

/// "71.0 %"; empty where no peak is known.
[[nodiscard]] std::string percent_of_peak(const layer_time& layer);

/// The bottleneck of a layer; empty where no peak is known.
[[nodiscard]] inline std::string bound_of(const layer_time& layer) {
  return layer.roofs ? layer.roofs->bound() : "";
}

/// Bandwidths by level of memory.
[[nodiscard]] table bandwidths(const peaks& of);

/// The peaks under each set of conditions, with a table of bandwidths.
[[nodiscard]] std::string text(std::span<const peaks> all);

/// What limits the step, one line each.
[[nodiscard]] std::string limits_text(const prediction& p);

/// The layers that spend most time above their roofs.
[[nodiscard]] table worth_optimising_table(const prediction& p, std::size_t most = 10);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/roofline/text-inl.hpp>
#endif
