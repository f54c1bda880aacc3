// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/shape/json.hpp>

/// Predictions as JSON.
namespace layerbench::analysis {

namespace detail {

[[nodiscard]] json::value prediction_json(const prediction& p);

}  // namespace detail

/// The predictions as JSON: the contract of docs/formats.md.
[[nodiscard]] json::value to_json(std::span<const prediction> predictions);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/predict/json-inl.hpp>
#endif
