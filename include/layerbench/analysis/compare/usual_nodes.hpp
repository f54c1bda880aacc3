// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <layerbench/analysis/compare/timed_sum.hpp>
#include <layerbench/analysis/compare/verdict.hpp>

/// Which of several equal machines is not like the others.
namespace layerbench::analysis {

/// Fewer nodes do not show which of them is unlike the others.
inline constexpr std::size_t min_nodes = 4;

/// One sum of timings on all nodes, compared with the usual nodes: those that are no outliers.
struct nodes_compared {
  std::vector<compared> nodes;  ///< old: the geometric mean of the other usual nodes; new: the node
  std::vector<bool> usual;      ///< by node
  double usual_seconds = 0;     ///< geometric mean of the usual nodes
};

/// Compares one sum of timings over nodes (at least `min_nodes`). Outliers are found by Rosner's
/// generalized extreme Studentized deviate (Percentage Points for a Generalized ESD Many-Outlier
/// Procedure, 1983) of the logarithms: the node farthest from the mean is removed, up to almost
/// half of the nodes, and each removed node is tested against those that are left. So two slow
/// nodes do not hide each other. The scatter of the nodes that are left is the standard of
/// comparison. The node's own rounds must agree: the larger p counts. `tests` is how many sums
/// are compared in all: if all nodes are equal, one comparison of all sums in a hundred finds an
/// outlier. `faster` and `slower` are outliers that differ by more than `margin`. A node with
/// too few rounds has no p; it is compared, but it is no standard for others.
[[nodiscard]] nodes_compared compare_with_usual(std::span<const timed_sum> all, std::size_t tests,
                                                double margin);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/usual_nodes-inl.hpp>
#endif
