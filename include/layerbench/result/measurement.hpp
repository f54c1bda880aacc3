// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/result/manifest.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/plan_candidates.hpp>

namespace layerbench::result {

/// The label of a row, `key=<canonical key>;algo=<choice>;state=<signature>[;inserted]`.
struct label {
  std::string key;
  std::string algorithm;
  std::string state;
  bool inserted = false;

  [[nodiscard]] std::string text() const;

  /// The inverse of text(); fields that are missing stay empty, unknown ones are ignored.
  [[nodiscard]] static label parse(std::string_view text);
};

/// The counters of a row by their names.
using counters = std::map<std::string, double, std::less<>>;

/// How the error of a row begins for which a budget left no time; the budget follows.
inline constexpr std::string_view left_out_begin = "left out: ";

/// One round of one row; one call of a chain is one step.
struct measurement {
  row_name name;
  result::label label;
  std::int64_t round = 0;
  double seconds = 0;      ///< median time of one call, by the clock that the context names
  double cpu_seconds = 0;  ///< CPU time of one call, all threads
  std::int64_t calls = 0;
  result::counters counters;
  std::string error;  ///< why there is no timing; empty if there is one

  /// Mean time of one call without stalls, or the median if the row has no mean.
  [[nodiscard]] double mean_seconds() const;
  /// Whether a budget left no time for it, so that it did not fail.
  [[nodiscard]] bool left_out() const { return error.starts_with(left_out_begin); }
  /// Whether something else used the processors meanwhile.
  [[nodiscard]] bool disturbed() const { return is_marked("disturbed"); }
  /// Whether the processors never ran at their usual speed meanwhile.
  [[nodiscard]] bool slowed() const { return is_marked("all_slowed"); }
  /// Whether a GPU's power limit held its clocks back meanwhile.
  [[nodiscard]] bool power_capped() const { return is_marked("power_capped"); }

 private:
  [[nodiscard]] bool is_marked(std::string_view counter) const;
};

/// Least share of disturbed timings at which a result is marked.
inline constexpr double much_disturbed = 0.1;
/// Share of disturbed timings above which the undisturbed ones may be so by chance.
inline constexpr double mostly_disturbed = 0.5;

/// The identity of a timing: work, library, conditions. Rows with equal identities, from files with
/// equal contexts, are interchangeable.
[[nodiscard]] std::string identity(const case_name& model_case, std::string_view op,
                                   std::string_view pass, std::string_view key,
                                   std::string_view cache, std::string_view state);
[[nodiscard]] std::string identity(const measurement& row);

/// The version of the format of result files (docs/formats.md).
inline constexpr std::string_view format_version = "1";

/// A part of an engine's step in its own profile (tools/engines.py).
struct engine_node {
  std::string type;                 ///< the engine's name of its kind
  std::vector<std::string> layers;  ///< of the shape file, as far as they are known
  double seconds;                   ///< of one step
};

/// What an engine's steps take beside the predicted calls, on the file's device (tools/engines.py
/// --overhead).
struct engine_overhead {
  std::string engine;
  std::string backend;  ///< of the predicted calls, as their other conditions
  std::string dtype;
  std::int64_t threads;
  name_parameters parameters;     ///< other than threads and fusion
  std::string cache;              ///< state of the calls
  double call_seconds;            ///< for each call; may be negative
  double step_seconds;            ///< for each step; may be negative
  std::int64_t large_bytes = 0;   ///< results of this size or more get new memory; 0: none
  double large_byte_seconds = 0;  ///< for each byte of such results
  /// By kind of kernel: the engine's time, relative to that of the predicted calls.
  std::map<std::string, double, std::less<>> kernel_factors = {};
};

/// A result file.
struct results {
  std::string file;
  std::map<std::string, std::string, std::less<>> context;
  field_dimensions dimensions;  ///< of the context, as far as the file has them
  result::manifest manifest;
  plan_candidates candidates;       ///< for each work for which plans were compared or forbidden
  std::vector<measurement> rows;    ///< of primitives
  std::vector<measurement> chains;  ///< of whole steps, which validate predictions
  /// The profiles of engines, by the case that they ran.
  std::map<std::string, std::vector<engine_node>, std::less<>> engine_layers;
  std::vector<engine_overhead> engine_overheads;
  std::size_t aggregates = 0;  ///< rows over several rounds, such as medians; they are not kept
  std::vector<std::string> notes = {};  ///< sentences on rows that are left out

  /// The value of a context field, or nothing.
  [[nodiscard]] std::optional<std::string> context_value(std::string_view field) const;
  /// The device of the file: the processor, and the GPU if there is one.
  [[nodiscard]] std::string device() const;
  /// Whether the run was stopped before all was measured.
  [[nodiscard]] bool interrupted() const { return context_value("interrupted") == "1"; }
};

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/measurement-inl.hpp>
#endif
