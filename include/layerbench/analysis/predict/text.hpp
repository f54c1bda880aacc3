// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/fusion_gain.hpp>
#include <layerbench/analysis/predict/service_mix.hpp>
#include <layerbench/analysis/predict/training_cost.hpp>
#include <layerbench/base/table.hpp>

/// Predictions as text and as CSV.
namespace layerbench::analysis {

/// The step's shares by op, and in training by part; one line each.
[[nodiscard]] std::string breakdown_text(const prediction& p);

/// What the step lacks, or may lack; one line each.
[[nodiscard]] std::string gaps_text(const prediction& p);

/// Throughput, method, breakdown, limits and caveats of a prediction; one line each.
[[nodiscard]] std::string remarks(const prediction& p);

/// One row per prediction: its conditions, its throughput and its method.
[[nodiscard]] table summary(std::span<const prediction> predictions);

/// The same for a terminal: what all cases share stands above the table.
[[nodiscard]] std::string cases_text(std::span<const prediction> predictions);

/// The `most` layers with the largest shares of the step, or the first in another order, and the
/// sum of the others. Bottlenecks are shown where peaks are known.
[[nodiscard]] table heaviest_layers(const prediction& p, std::size_t most,
                                    layer_order by = layer_order::share);

/// Each prediction with its heaviest layers, or the first in another order, and cases_text() of
/// several predictions.
[[nodiscard]] std::string text(std::span<const prediction> predictions,
                               std::size_t most_layers = 10, layer_order by = layer_order::share);

/// One table per fused model: the calls that save most, and all that lose.
[[nodiscard]] std::string text(std::span<const fusion_gain> gains);

/// One row per service. `>` and `<` mark the bounds of steps that lack layers.
[[nodiscard]] std::string text(std::span<const service> services, const service_mix& mix);

/// One row per training case.
[[nodiscard]] std::string text(std::span<const prediction> predictions, const training_run& run);

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
