// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/table.hpp>

/// Validations as text and as CSV.
namespace layerbench::analysis {

namespace detail {

/// The numbers of a case, under their names in JSON and CSV.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<double>>> numbers(
    const validated& entry);

}  // namespace detail

/// What the table of cases has beside the default.
struct validation_columns {
  bool measured_interval = true;
  std::vector<std::string> names = {};  ///< of the cases, in their order; default: headline()
};

/// One row per case: both times with their intervals, and the errors; those of naive hot sums where
/// there are any.
[[nodiscard]] table validation_table(const validation& all, const validation_columns& how = {});

/// Summaries of the errors, the errors of each case by op and layer, and the cases left out.
[[nodiscard]] std::string remarks(const validation& all);

/// The table of cases and the remarks.
[[nodiscard]] std::string text(const validation& all);

/// One table per engine, its summary and its profile. The difference is that of the prediction,
/// relative to the engine's time.
[[nodiscard]] std::string text(const std::vector<engine_validation>& engines);

/// One row per case. Cases that could not be validated have a reason instead of numbers. Rows of
/// `engines` follow.
[[nodiscard]] table records(const validation& all,
                            const std::vector<engine_validation>& engines = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/validate/text-inl.hpp>
#endif
