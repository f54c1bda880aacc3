// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/base/table.hpp>

/// A study's table as text and CSV.
namespace layerbench::analysis {

namespace detail {

/// The columns of tables that describe cells of whole steps. Phase and data type are columns only
/// where they differ; what all cells have in common is the heading.
class step_columns {
 public:
  explicit step_columns(std::span<const study_row> rows)
      : phase_(common(rows, &study_cell::phase)), dtype_(common(rows, &study_cell::dtype)) {}

  [[nodiscard]] std::string heading() const;
  [[nodiscard]] std::vector<column> titles() const;
  [[nodiscard]] std::vector<std::string> cells(const study_cell& of) const;

 private:
  /// What all answerable cells have; empty if they differ.
  [[nodiscard]] static std::string common(std::span<const study_row> rows,
                                          std::string study_cell::* member);

  std::string phase_;
  std::string dtype_;
};

}  // namespace detail

/// The study's own table, with this machine beside the published systems, and what it leaves open.
[[nodiscard]] std::string text(const study& of, std::span<const study_row> rows);

/// One record per cell and figure: a system's published one, or one of this machine.
[[nodiscard]] table records(const study& of, std::span<const study_row> rows);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/study/text-inl.hpp>
#endif
