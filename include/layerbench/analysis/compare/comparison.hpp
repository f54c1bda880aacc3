// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/analysis/compare/pair_verdicts.hpp>
#include <layerbench/analysis/compare/paired_ratio.hpp>
#include <layerbench/analysis/compare/verdict.hpp>

/// Comparison of two runs or sets of runs: which layers and models became faster or slower.
namespace layerbench::analysis {

struct comparison_options {
  double margin = 0.02;  ///< largest difference from 1 of a ratio that counts as the same
  std::optional<compared_dimension> dimension = {};  ///< nothing: see difference_between()
  bool force = false;                                ///< compare whatever else differs
  bool paired = false;         ///< the n-th files of both sides were measured side by side
  std::size_t most_pairs = 0;  ///< see pair_plan::most
};

/// The identity of rows (result::identity), and the name of the first row that has it.
struct identified_row {
  std::string id;
  std::string name;
};

/// A row that both sides have.
struct compared_layer : compared {
  identified_row row;
};

/// A primitive and its contribution to the change of a step.
struct contributor {
  std::string name;
  std::string op;
  std::string pass;
  std::string key;
  double old_seconds = 0;  ///< per step, all calls; 0 if the side's step lacks the primitive
  double new_seconds = 0;
  double share = 0;  ///< of the absolute changes of all primitives

  [[nodiscard]] double change() const { return new_seconds - old_seconds; }
};

/// The predicted step of a case on both sides.
struct compared_model : compared {
  result::case_name model_case;
  std::string cache;  ///< cache state of the timings used
  std::int64_t old_threads = 0;
  std::int64_t new_threads = 0;
  /// The fewest primitives that make up half of all changes; empty for verdict `same`.
  std::vector<contributor> top_contributors;
  std::optional<double> left_out;  ///< of the model's FLOPs, by its import, on the first such side
};

/// A case that is not compared.
struct uncompared {
  result::case_name model_case;
  std::string reason;
  bool incomplete = false;  ///< only one side has timings of the whole step
};

/// A comparison of two sets of files, the old and the new side.
struct comparison {
  std::vector<std::string> old_files;
  std::vector<std::string> new_files;
  std::vector<std::string> file_notes;  ///< on rows that are left out of the files
  context_fields old_loaded;            ///< see loaded()
  context_fields new_loaded;
  double old_disturbed = 0;  ///< share of the timings that were disturbed
  double new_disturbed = 0;
  analysis::difference difference;
  double margin = 0;
  bool paired = false;
  bool sure = false;                   ///< pairs: no further one is needed
  std::vector<compared_layer> layers;  ///< in the order of the old files
  std::vector<compared_model> models;
  std::string format = {};         ///< of outputs of other programs, whose rows `layers` has
  std::vector<compared> sum = {};  ///< of those rows; empty where they do not add up
  std::vector<identified_row> only_old;
  std::vector<identified_row> only_new;
  std::vector<uncompared> left_out;

  /// Whether a side has several runs, so that differences between runs can be seen.
  [[nodiscard]] bool has_runs() const { return old_files.size() + new_files.size() > 2; }
};

/// Compares two sides, neither of them empty; each file is a run. Rows are compared where their
/// identities agree, and predicted steps where both sides planned the case. Row names have a
/// thread count only if it is not the default, so sides that each use a single count are compared
/// as if the names had none; the count is then a field of their contexts. Throws bad_input for
/// sides that differ in more than the compared dimension and for a file with aggregates but no
/// rounds, usage_error for an incomplete pair, nothing_matched if the sides share no row and no
/// case.
[[nodiscard]] comparison compare(const group& old, const group& now,
                                 const comparison_options& chosen = {});

[[nodiscard]] comparison compare(std::span<const result::results> old,
                                 std::span<const result::results> now,
                                 const comparison_options& chosen = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/comparison-inl.hpp>
#endif
