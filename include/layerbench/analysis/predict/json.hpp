// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/fusion_gain.hpp>
#include <layerbench/analysis/predict/service_mix.hpp>
#include <layerbench/analysis/predict/training_cost.hpp>
#include <layerbench/base/json.hpp>

/// Predictions as JSON.
namespace layerbench::analysis {

namespace detail {

[[nodiscard]] json::value prediction_json(const prediction& p);

}  // namespace detail

/// The predictions as JSON: the contract of docs/formats.md.
[[nodiscard]] json::value to_json(std::span<const prediction> predictions);

/// Adds the list "fusions" to what to_json makes of the predictions; nothing if there are none.
void add_fusion_gains(json::value& to, std::span<const fusion_gain> gains);

/// Adds the list "services" to what to_json makes of the predictions.
void add_services(json::value& to, std::span<const service> services, const service_mix& mix);

/// Adds the list "training_runs" to what to_json makes of the predictions.
void add_training_runs(json::value& to, std::span<const prediction> predictions,
                       const training_run& run);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/predict/json-inl.hpp>
#endif
