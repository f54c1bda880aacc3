// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/result/measurement.hpp>

/// What the subcommands that compare have in common.
namespace layerbench::tool {

struct comparing_options {
  std::string compared_dimension;
  double margin = 2;    // percent
  std::string allowed;  // percent by which models may be slower; empty: no matter how much
  bool force = false;
  bool paired = false;
};

/// Adds those options but `paired`, which subcommands ask for in their own ways.
void add_comparing(CLI::App& command, comparing_options& chosen);

/// Compares as it was chosen.
analysis::comparison compare(std::span<const result::results> old,
                             std::span<const result::results> now, const comparing_options& chosen);

/// A comparison as text or csv, else as JSON.
std::string render(const analysis::comparison& all, const std::string& format);

/// Throws where a step is whole on one side only, and for regressions where they matter, naming
/// them.
void require_none(const analysis::comparison& all, const comparing_options& chosen);

}  // namespace layerbench::tool
