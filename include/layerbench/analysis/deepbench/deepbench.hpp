// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/shape/json.hpp>

/// The timings of a sweep in the columns that DeepBench prints (baidu-research/DeepBench, code/).
namespace layerbench::analysis {

/// A pass of a row. FLOPs count the taps in padding, as DeepBench does.
struct deepbench_time {
  op::pass pass;
  double seconds;
  double flops;

  [[nodiscard]] double tflops() const { return flops / seconds * 1e-12; }
};

/// Values of a row by DeepBench's name of their column.
using deepbench_columns = std::vector<std::pair<std::string, json::value>>;

/// A row of a sweep of which some pass is measured.
struct deepbench_row {
  model::layer layer;
  deepbench_columns sizes;
  std::vector<deepbench_time> times;  ///< in the order of the sweep's passes
};

/// A sweep under fixed conditions.
struct deepbench_result {
  model::graph sweep;
  result::case_name model_case;  ///< without the batch, which each row has
  std::int64_t threads = 0;      ///< 0: not said
  std::vector<std::string> files;
  std::vector<deepbench_row> rows;      ///< in the order of the sweep
  std::vector<std::string> unmeasured;  ///< its other rows

  /// The rows of an op.
  [[nodiscard]] std::vector<deepbench_row> rows_of(std::string_view op) const;
};

namespace detail {

/// Hot timings of the sweep's rows, by the conditions and the name of the row.
using sweep_timings =
    std::map<result::case_name, std::map<std::string, std::map<std::string, timing>>>;

}  // namespace detail

/// The measured rows of `sweep`, for each group of comparable files and each condition.
[[nodiscard]] std::vector<deepbench_result> deepbench_results(
    std::span<const result::results> files, const model::graph& sweep);

[[nodiscard]] std::string text(const std::vector<deepbench_result>& all);

[[nodiscard]] json::value to_json(const std::vector<deepbench_result>& all);

/// A record for each pass of each row.
[[nodiscard]] table records(const std::vector<deepbench_result>& all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/deepbench/deepbench-inl.hpp>
#endif
