// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/compare/change_points.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>

/// Histories: the predicted step of a case, and the time of a row, over several dates.
namespace layerbench::analysis {

/// The time of a date such as "2026-01-02T03:04:05+00:00"; nothing if `date` is malformed.
[[nodiscard]] std::optional<std::chrono::sys_seconds> instant(const std::string& date);

/// The time from a single file.
struct history_point {
  std::chrono::sys_seconds when;
  std::string date;  ///< as written in the file
  std::string file;
  timed_sum time;
  std::optional<stats::interval> between = {};  ///< of the seconds, as predictions have it
  bool has_confidence_interval = false;         ///< that interval is a 95 % one
  int digits = format::most_digits;             ///< that texts show
  std::vector<std::string> differing = {};  ///< context fields that differ from the point before
};

/// The relative change since `before`.
[[nodiscard]] inline double change(const history_point& before, const history_point& now) {
  return now.time.seconds / before.time.seconds - 1;
}

/// Times of the same work on one device, oldest first.
struct time_series {
  result::case_name model_case;
  std::int64_t threads = 0;
  std::string device;
  std::vector<history_point> points = {};
  std::vector<change_point> changes = {};

  /// Whether there are enough points for change points.
  [[nodiscard]] bool is_long() const { return points.size() >= min_history; }
  /// The relative change at point `i`: that of a change point. In a series too short for these:
  /// that since the point before, if both have 95 % intervals, and these do not overlap. Nothing if
  /// the time has not changed there.
  [[nodiscard]] std::optional<double> change_at(std::size_t i) const;
};

/// The predictions of a case on one device in one cache state, of files that have all its layers.
struct step_series : time_series {
  std::string cache;
  std::optional<double> left_out = {};  ///< share of the model's FLOPs that its import left out
};

/// The times of a row on one device; `model_case` is that of the first row with its identity.
struct layer_series : time_series {
  identified_row row;
};

/// The histories of files.
struct histories {
  std::vector<step_series> steps;
  std::vector<layer_series> layers;
};

/// The histories of all cases and rows that files of several dates have; each file gives one point.
/// Files without a date are left out. Changes within `margin` are not named.
[[nodiscard]] histories history(std::span<const result::results> files, const options& chosen = {},
                                double margin = comparison_options{}.margin);

/// A file of a comparison of dates.
struct history_file {
  std::string file;
  std::string date;
  double disturbed = 0;  ///< share of the timings that were disturbed
};

/// Files of several dates, compared with each other.
struct date_comparison : histories {
  std::vector<history_file> files;      ///< oldest first
  std::vector<std::string> file_notes;  ///< on rows that are left out of the files
  std::vector<std::string> forced;      ///< context fields that differ although they should not
  double margin = 0;
  std::vector<uncompared> left_out;          ///< cases of fewer than `min_history` files
  std::vector<identified_row> on_few_files;  ///< rows of fewer
};

/// Compares files of several dates, which may differ in versions and drivers. Throws bad_input for
/// files that differ in anything else (unless forced), and for one without a date or rounds.
[[nodiscard]] date_comparison compare_dates(std::span<const result::results> files,
                                            const comparison_options& chosen = {});

/// A change of a step or a row.
struct named_change {
  const time_series* of;
  bool is_step;
  std::string name;  ///< the case, or the name of the row
  const change_point* change;
};

/// All changes, those of steps first, oldest first. They point into `all`.
[[nodiscard]] std::vector<named_change> named_changes(const histories& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/time_series-inl.hpp>
#endif
