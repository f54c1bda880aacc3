// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/verdict.hpp>
#include <layerbench/base/json.hpp>

/// Comparisons as JSON.
namespace layerbench::analysis {

namespace detail {

[[nodiscard]] json::value rows_json(const std::vector<identified_row>& rows);

/// A ratio with its verdict.
[[nodiscard]] json::value ratio_json(const compared& of);

[[nodiscard]] json::value drivers_json(const std::vector<contributor>& all);

[[nodiscard]] json::value uncompared_json(const std::vector<uncompared>& all);

}  // namespace detail

/// The comparison as JSON: the contract of docs/formats.md.
[[nodiscard]] json::value to_json(const comparison& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/json-inl.hpp>
#endif
