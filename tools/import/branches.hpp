// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph.hpp"
#include "inference.hpp"

namespace layerbench::tool::importer {

/// The graph with the nodes of the taken branch in place of each If whose condition follows from
/// constants and sizes. Throws bad_input.
[[nodiscard]] graph with_taken_branches(graph g, const sizes& of);

}  // namespace layerbench::tool::importer
