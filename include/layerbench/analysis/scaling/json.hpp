// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/base/json.hpp>

/// Training on many devices, and measured contention, as JSON: the contract of docs/formats.md.
namespace layerbench::analysis {

/// The predictions for one device, each with its steps on several as `data_parallel`.
[[nodiscard]] json::value to_json(std::span<const data_parallel> all);

/// Adds the measured contention to the JSON of predictions; nothing if none was measured.
void add_contentions(json::value& to, std::span<const measured_contention> measured);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/json-inl.hpp>
#endif
