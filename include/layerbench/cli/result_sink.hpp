// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/cli/reporter.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/result/manifest.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/result_file.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run::detail {

/// Takes the results of a run: reads the file to resume, writes checkpoints and the final file,
/// prints the rows, and reports on stderr.
class result_sink {
 public:
  /// `predicts`: what the rows add up to is printed after them. Throws bad_input if the file to
  /// resume is of another machine, setting or shape.
  result_sink(const options& o, const suite& all, const machine_watch& watch,
              std::vector<benchmark_row*> selected, result::results results, bool predicts);

  /// Notes what ended the rounds of a case, in place of what ended those of an earlier
  /// run.
  void set_ending(const result::case_name& model_case, const std::string& ending);

  /// All results; a runner adds to them.
  [[nodiscard]] result::results& results() { return results_; }
  [[nodiscard]] const result::results& results() const { return results_; }

  /// Notes how the processors have been since measuring began.
  void set_machine_state(std::optional<double> slow_share, std::optional<double> core_latency);

  /// Saves the results so far. If that fails it says so once: a disk that is full now need not be
  /// at the end.
  void checkpoint();

  /// Writes the results of the whole run, or of an interrupted one, and prints them. If writing
  /// fails they are still printed; see failure().
  void finish(bool interrupted);

  /// Why the results are not in their file; empty if they are.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// Says where an interrupted run's rows are, and how to resume it.
  [[nodiscard]] std::string interruption() const;

  /// Says how to measure what a finished file lacks, with `more` options; empty where it cannot be
  /// resumed.
  [[nodiscard]] std::string continuation(const std::string& more = {}) const;

  /// Drops from the manifest the cases that this run cannot predict: those that it was not
  /// asked for, those that were refused as a whole, and those of which the filter left out rows
  /// that no run measured. Lists the last kind in words; empty if there is none.
  std::string keep_predictable();

  /// Notes what a budget was too short for, in words, and the seconds that this takes, if known.
  void set_shortfall(const std::string& text, std::optional<double> rest);

  /// Reports on stderr the rows that failed, each reason once, and what a budget left out; returns
  /// their number.
  [[nodiscard]] std::size_t report_failures() const;

  /// Warns on stderr if other programs disturbed more than a tenth of the timings, and says if more
  /// than a tenth were taken at a GPU's power cap.
  void report_disturbance() const;

 private:
  /// Text of the kind that the result file will have.
  [[nodiscard]] static std::string_view sample_of(const options& o);

  /// Sorts the rows, which rounds measure in random order, into the order of the model.
  void sort_rows();

  /// Refuses a file that has none of this run's models: it was hardly meant.
  void refuse_other_models(const result::results& earlier) const;

  /// Refuses rows to resume whose model file has changed since: they have the same names, but other
  /// work or another cache state.
  void refuse_other_shapes(const result::manifest& earlier) const;

  /// Refuses chains whose step was another one: the names of fused rows change with their plan.
  void refuse_other_steps(const result::manifest& earlier) const;

  [[nodiscard]] std::vector<result::measurement> all_rows() const;

  [[nodiscard]] context_fields context(bool partial) const;

  [[nodiscard]] std::string file_text(bool partial) const;

  /// Whether a complete or `partial` run prints its rows. A program of whole models leaves them to
  /// the result file and prints what they add up to, unless the user asks for them.
  [[nodiscard]] bool shows_rows(bool partial) const;

  /// Names the rows that a budget left out.
  void report_left_out(const std::vector<std::string>& rows) const;

  /// A failure is reported when the program ends.
  static void print(const std::string& text);

  void print_rows(bool partial) const;

  /// The number of threads of all rows; 0 if they differ.
  [[nodiscard]] std::int64_t common_threads() const;

  [[nodiscard]] bool has_events() const;

  const options& o_;
  bool predicts_;
  const suite& all_;
  const machine_watch& watch_;
  std::vector<benchmark_row*> selected_;
  result::results results_;
  std::optional<double> slow_share_;
  std::optional<double> core_latency_;  ///< the longest so far
  std::optional<result_file> file_;
  std::string shortfall_;  ///< this and the next: see set_shortfall()
  std::optional<double> rest_;
  bool unsaved_ = false;  ///< a checkpoint failed, and the user was told
  std::string failure_;
};

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/result_sink-inl.hpp>
#endif
