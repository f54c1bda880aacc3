// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/estimate.hpp>

/// What fusion gains: calls of several layers beside the calls of these layers one by one.
namespace layerbench::analysis {

/// A fused call that was also measured layer by layer. Seconds are of one call.
struct fused_call {
  std::string name;
  std::int64_t count;  ///< in a step
  estimate apart;      ///< the sum of its layers
  estimate together;

  /// Seconds that the step becomes shorter.
  [[nodiscard]] double saved() const;
  /// Whether fusing makes it slower, beyond the intervals of both timings.
  [[nodiscard]] bool loses() const { return together.low > apart.high; }
};

/// A fused model beside the same model layer by layer.
struct fusion_gain {
  const prediction* apart;
  const prediction* fused;
  std::vector<fused_call> calls;  ///< the one that saves most comes first
};

/// The fused models among the predictions that were also predicted layer by layer, from the same
/// files.
[[nodiscard]] std::vector<fusion_gain> fusion_gains(std::span<const prediction> predictions);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/predict/fusion_gain-inl.hpp>
#endif
