// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>

/// The history of predictions: those of one case over several dates.
namespace layerbench::analysis {

/// The time of a date such as "2026-01-02T03:04:05+00:00"; nothing if `date` is malformed.
[[nodiscard]] std::optional<std::chrono::sys_seconds> instant(const std::string& date);

/// The prediction from a single file.
struct history_point {
  std::chrono::sys_seconds when;
  std::string date;  ///< as written in the file
  prediction predicted;
  std::vector<std::string> differing;  ///< context fields that differ from the previous point

  /// Whether the step has a 95 % interval.
  [[nodiscard]] bool has_confidence_interval() const;
};

/// The relative change of the step since `before`.
[[nodiscard]] inline double change(const history_point& before, const history_point& now) {
  return now.predicted.step->seconds / before.predicted.step->seconds - 1;
}

/// Whether the step has changed: both points have intervals, and these do not overlap.
[[nodiscard]] bool changed(const history_point& before, const history_point& now);

/// The complete predictions of a case on one device in one cache state, oldest first.
struct time_series {
  result::case_name model_case;
  std::int64_t threads;
  std::string device;
  std::string cache;
  std::vector<history_point> points;

  [[nodiscard]] bool contains(const prediction& p, const std::string& its_device) const;
};

/// The time series of all cases that files of several dates have; each file gives one point. Files
/// without a date are left out.
[[nodiscard]] std::vector<time_series> history(std::span<const result::results> files,
                                               const options& chosen = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/compare/time_series-inl.hpp>
#endif
