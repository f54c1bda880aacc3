// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/base/table.hpp>

/// Predictions as text and as CSV.
namespace layerbench::analysis {

/// The conditions of a case: "resnet50 inference, onednn f32, batch 1, 2 threads".
[[nodiscard]] std::string headline(const result::configuration_name& configuration,
                                   std::int64_t threads);
[[nodiscard]] std::string headline(const prediction& p);

/// The conditions of several cases: what all share, and what each has besides, its model first.
struct headlines {
  std::string shared;  ///< "inference, onednn f32, batch 1"; may be empty
  std::vector<std::string> own;
};
[[nodiscard]] headlines headlines_of(std::span<const prediction* const> cases);

/// What the step lacks, or may lack; one line each.
[[nodiscard]] std::string gaps_text(const prediction& p);

/// Throughput, method, breakdown, limits and caveats of a prediction; one line each.
[[nodiscard]] std::string remarks(const prediction& p);

/// One row per prediction: its conditions, its throughput and its method.
[[nodiscard]] table summary(std::span<const prediction> predictions);

/// The same for a terminal: what all cases share stands above the table.
[[nodiscard]] std::string cases_text(std::span<const prediction> predictions);

/// Each prediction with its heaviest layers, or the first in another order, and cases_text() of
/// several predictions.
[[nodiscard]] std::string text(std::span<const prediction> predictions,
                               std::size_t most_layers = 10, layer_order by = layer_order::share);

/// The times of a prediction in seconds, under their names in JSON and CSV.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<double>>> times(const prediction& p);

/// The kind of interval around the time, in one word; empty without a time.
[[nodiscard]] std::string interval_name(const prediction& p);

/// One row per prediction, without its layers; a missing number is an empty cell.
[[nodiscard]] table records(std::span<const prediction> predictions);

/// One row per layer of each prediction: the first `most_layers` in an order.
[[nodiscard]] table layer_records(std::span<const prediction> predictions, std::size_t most_layers,
                                  layer_order by);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/predict/text-inl.hpp>
#endif
