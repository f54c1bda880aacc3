// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/base/table.hpp>

/// Comparisons of nodes as text and as CSV.
namespace layerbench::analysis {

/// Reservations about a comparison of nodes, one sentence each.
[[nodiscard]] std::vector<std::string> notes(const node_comparison& all);

namespace detail {

/// The nodes that are slower or faster, one line for each model or layer in which they are.
[[nodiscard]] std::string named_text(const node_comparison& all);

}  // namespace detail

/// All layers in which a node is slower or faster, largest differences first; up to 20 unless
/// `every` one, or `top`.
[[nodiscard]] table layers_table(const node_comparison& all, bool every, std::size_t top = 0);

/// The named nodes, the notes, a table of nodes for each model with the layers that contribute most
/// to the differences of named nodes, a table of layers, and what is not compared.
[[nodiscard]] std::string text(const node_comparison& all, const layers_shown& how = {});

/// One row per model and node, then one per layer and node.
[[nodiscard]] table records(const node_comparison& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/nodes_text-inl.hpp>
#endif
