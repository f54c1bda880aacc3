// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/compare/comparison.hpp>
#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/error.hpp>

/// All analyses of a set of result files, as a report shows them.
namespace layerbench::report {

/// The analyses of result files; `files` must outlive it.
struct report_data {
  std::span<const result::results> files;
  std::vector<analysis::prediction> predictions;
  analysis::validation validation;  ///< of the predicted cases that have an end-to-end run
  /// Of the predicted cases that files of several dates have, and of their layers with changes.
  analysis::histories history;
  std::vector<analysis::curve> curves = {};  ///< of cases that have three sizes or more
  std::vector<analysis::measured_contention> contentions = {};
  /// Each further context compared with the first one, which is the old side.
  std::vector<analysis::comparison> comparisons = {};
  std::vector<std::string> uncompared = {};  ///< why contexts were not compared, one sentence each

  [[nodiscard]] bool has_comparison() const { return !comparisons.empty() || !uncompared.empty(); }
  [[nodiscard]] bool has_validation() const {
    return !validation.cases.empty() || !validation.left_out.empty();
  }
  [[nodiscard]] bool has_peaks() const {
    return std::ranges::any_of(predictions,
                               [](const analysis::prediction& p) { return p.limits.has_value(); });
  }
};

namespace detail {

/// Compares files of differing contexts, as `layerbench compare` does.
inline void compare_groups(report_data& data) {
  const std::vector<analysis::group> groups = analysis::group_by_context(data.files);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    try {
      data.comparisons.push_back(analysis::compare(groups.front(), groups[i]));
    } catch (const error& e) {  // they differ in several dimensions, or have nothing in common
      data.uncompared.push_back(fmt::format("not compared; layerbench compare: {}", e.what()));
    }
  }
}

}  // namespace detail

/// Analyses result files: predictions, curves, contention, validation, history and comparisons.
/// Throws what predict() throws.
[[nodiscard]] inline report_data report_data_of(std::span<const result::results> files,
                                                const analysis::options& chosen = {}) {
  report_data data{files, analysis::predict(files, chosen), {}, {}};
  data.curves = analysis::curves_of(data.predictions,
                                    {.chains = analysis::chains_in(files), .least_sizes = 3});
  data.contentions = analysis::contentions(files, chosen);
  const auto is_unknown = [&](const result::case_name& model_case) {
    return std::ranges::find(data.predictions, analysis::without_all_reduces(model_case),
                             &analysis::prediction::model_case) == data.predictions.end();
  };
  if (std::ranges::any_of(files, [](const auto& file) { return !file.chains.empty(); })) {
    data.validation = analysis::validate(files, chosen);
    std::erase_if(data.validation.cases, [&](const analysis::validated& entry) {
      return is_unknown(entry.predicted.model_case);
    });
    std::erase_if(data.validation.left_out,
                  [&](const analysis::unvalidated& entry) { return is_unknown(entry.model_case); });
  }
  if (files.size() > 1) data.history = analysis::history(files, chosen);
  std::erase_if(data.history.steps, [&](const auto& of) { return is_unknown(of.model_case); });
  std::erase_if(data.history.layers,
                [&](const auto& of) { return of.changes.empty() || is_unknown(of.model_case); });
  detail::compare_groups(data);
  return data;
}

}  // namespace layerbench::report
