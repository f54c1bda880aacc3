// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/report/html.hpp>

/// The chart of prediction errors.
namespace layerbench::report::svg {

/// One row per case: the signed error with its interval, and the error of the naive hot sum.
[[nodiscard]] markup error_chart(const analysis::validation& all);

}  // namespace layerbench::report::svg

#ifndef LAYERBENCH_COMPILED
#include <layerbench/report/error_chart-inl.hpp>
#endif
