// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/shape/json.hpp>

/// A study's table as JSON.
namespace layerbench::analysis {

/// The table of a study as JSON: the fields of the study file, and in each cell `own` and `reason`
/// (docs/formats.md).
[[nodiscard]] json::value to_json(const study& of, std::span<const study_row> rows);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/study/json-inl.hpp>
#endif
