// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/shape/json.hpp>

/// Comparisons of nodes as JSON.
namespace layerbench::analysis {

/// The comparison as JSON: the contract of docs/formats.md.
[[nodiscard]] json::value to_json(const node_comparison& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/nodes_json-inl.hpp>
#endif
