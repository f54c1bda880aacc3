// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/usual_nodes.hpp>

/// Comparison of equal nodes of a cluster: which of them is slower or faster than the others.
namespace layerbench::analysis {

/// A node, or a GPU, and its result files.
struct node {
  std::string name;  ///< fields host_name, and of a GPU gpu_uuid, of the files' contexts
  std::vector<std::string> files;
  double disturbed = 0;  ///< share of the timings that were disturbed
};

/// The time of one node, divided by that of the usual nodes.
struct node_time : compared {
  std::size_t node = 0;  ///< index into node_comparison::nodes
  bool usual = true;     ///< no outlier
  /// The fewest primitives that make up half of all changes; empty unless slower or faster.
  std::vector<contributor> top_contributors = {};
};

/// The times of at least four nodes.
struct times_of_nodes {
  double usual_seconds = 0;  ///< geometric mean of the usual nodes
  std::vector<node_time> times = {};
};

/// A row that at least four nodes have.
struct layer_of_nodes : times_of_nodes {
  identified_row row;
};

/// The predicted step of a case that at least four nodes timed.
struct model_of_nodes : times_of_nodes {
  result::case_name model_case;
  std::string cache;  ///< cache state of the timings used
  std::int64_t threads = 0;
  std::optional<double> left_out = {};  ///< of the model's FLOPs, by its import
};

/// A comparison of nodes, or of GPUs.
struct node_comparison {
  compared_dimension across = compared_dimension::node;
  std::vector<node> nodes;              ///< in the order of the files
  std::vector<std::string> file_notes;  ///< on rows that are left out of the files
  std::vector<std::string>
      forced;  ///< context fields in which nodes differ although they should not
  double margin = 0;
  std::vector<layer_of_nodes> layers;  ///< in the order of the first node's files
  std::vector<model_of_nodes> models;
  std::vector<identified_row> on_few_nodes;  ///< rows of fewer than four nodes
  std::vector<uncompared> left_out;
};

/// Compares nodes, each by all of its files; or the GPUs of one or several nodes, if that is what
/// `chosen` is across. Throws usage_error for fewer than four nodes, bad_input for nodes that
/// differ in more than their names from most others (unless forced), and for a file without rounds
/// or without the name of its node, nothing_matched if no four nodes share a row or a case.
[[nodiscard]] node_comparison compare_nodes(std::span<const result::results> files,
                                            const comparison_options& chosen = {});

/// A node's difference in a model, or in a layer if no models are compared.
struct named_node {
  const analysis::node* node;
  std::string of;  ///< the case, or the name of the row
  const node_time* time;
};

/// The nodes that are slower or faster than the usual ones, largest differences first: by models,
/// or by layers if no models are compared. They point into `all`.
[[nodiscard]] std::vector<named_node> named_nodes(const node_comparison& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/nodes-inl.hpp>
#endif
