// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/shape/json.hpp>

/// Validations as JSON.
namespace layerbench::analysis {

/// The validation as JSON: the contract of docs/formats.md.
[[nodiscard]] json::value to_json(const validation& all);

/// The same fields for each engine, whose steps are what is measured.
[[nodiscard]] json::value to_json(const std::vector<engine_validation>& engines);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/validate/json-inl.hpp>
#endif
