// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/analysis/compare/program_output.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/result/measurement.hpp>

/// The options and output that subcommands with a comparison share.
namespace layerbench::tool {

struct compare_options {
  std::string dimension;  // name of a compared_dimension; empty: inferred
  double margin = 2;      // percent
  std::string allowed;    // percent by which models may be slower; empty: any
  bool force = false;
  bool paired = false;
  std::size_t most_pairs = 0;  // see analysis::pair_plan
  analysis::layers_shown shown;
};

/// Adds --margin alone.
void add_margin(CLI::App& command, compare_options& chosen);

/// Adds these options except those of pairs, which each subcommand sets in its own way. Only with
/// `of_equals` --across takes `node`, `gpu`, `date` and `backend`.
void add_compare_options(CLI::App& command, compare_options& chosen, bool of_equals);

/// Compares two sets of result files with these options.
analysis::comparison compare(std::span<const result::results> old,
                             std::span<const result::results> now, const compare_options& chosen);

/// Compares the outputs of other programs with these options.
analysis::comparison compare(std::span<const result::metrics> old,
                             std::span<const result::metrics> now,
                             const analysis::row_weights& weights, const compare_options& chosen);

/// Compares the nodes that wrote `files` with these options.
analysis::node_comparison compare_nodes(std::span<const result::results> files,
                                        const compare_options& chosen);

/// Compares files of several dates with these options.
analysis::date_comparison compare_dates(std::span<const result::results> files,
                                        const compare_options& chosen);

/// The fastest backend in `files` for each layer, in the format text or json, or as a fusion plan.
/// Throws usage_error for options that are of two sides.
std::string compare_backends(std::span<const result::results> files, const std::string& format,
                             const compare_options& chosen);

/// A comparison, of two sides, nodes or dates, in the format text, csv or json; `shown`
/// is for text.
template <class Comparison>
std::string render(const Comparison& all, const std::string& format,
                   const analysis::layers_shown& shown);

/// Throws error, naming the cases, if a side or a node lacks layers of a step, and for models or
/// nodes that are slower than the options allow. Of dates the last change counts.
template <class Comparison>
void require_no_regression(const Comparison& all, const compare_options& chosen);

}  // namespace layerbench::tool
