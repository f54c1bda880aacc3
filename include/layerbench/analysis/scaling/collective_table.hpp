// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/analysis/scaling/allreduce_model.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::analysis {

/// Seconds of a collective with their interval; low and high are equal if it is unknown.
struct collective_time {
  double seconds = 0;
  double low = 0;
  double high = 0;
};

/// Measured times of all-reduces, by devices and bytes.
class collective_table {
 public:
  /// Reads the rows `allreduce/...` of result files of bench_allreduce, each of which has one
  /// number of ranks. If there are rows in place, which is how gradients are reduced, only those
  /// count. Rows of one rank send nothing and do not count. Throws bad_input if no rows remain.
  explicit collective_table(std::span<const result::results> files);

  /// The model for numbers of devices that were not measured.
  [[nodiscard]] const fitted_link& model() const { return fitted_; }
  /// Share of the timings that were disturbed.
  [[nodiscard]] double disturbed() const { return disturbed_; }

  [[nodiscard]] std::vector<std::int64_t> devices() const;
  /// Whether an all-reduce of at least that many bytes was measured with that many devices.
  [[nodiscard]] bool measured(double bytes, std::int64_t devices) const;

  /// The time of an all-reduce. For a measured number of devices it is interpolated between
  /// measured sizes. For another number it is the time of the nearest smaller measured number (else
  /// of the nearest larger one), scaled by the ratio of the fitted model's times; the interval then
  /// includes the error of the fit, and is unknown where that is.
  [[nodiscard]] collective_time time(double bytes, std::int64_t devices) const;

 private:
  struct point {
    double bytes;
    collective_time time;
  };
  using size = std::pair<std::int64_t, std::int64_t>;  ///< devices, bytes

  /// A row and the file that has it.
  struct found {
    const result::results* file;
    const result::measurement* row;
    op::allreduce allreduce;

    [[nodiscard]] std::string kind() const {
      return row->name.model_case.backend + ' ' + row->name.model_case.dtype;
    }
  };

  /// The all-reduces over several ranks. Throws bad_input if they are of several devices, backends
  /// or types.
  [[nodiscard]] static std::vector<found> rows_in(std::span<const result::results> files);

  [[nodiscard]] std::map<size, timing> rounds_in(std::span<const result::results> files);

  /// Interpolates linearly between the logarithms of sizes and times. Below the smallest size the
  /// time is that of the smallest, which is latency; above the largest the bandwidth is constant.
  [[nodiscard]] static collective_time between(const std::vector<point>& points, double bytes);

  std::map<std::int64_t, std::vector<point>> sizes_;  ///< by devices; points by growing bytes
  fitted_link fitted_;
  double disturbed_ = 0;
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/collective_table-inl.hpp>
#endif
