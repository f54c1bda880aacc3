// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/result/measurement.hpp>

/// Rounds that result files have more than once, as copies, merged and resumed files do.
namespace layerbench::analysis {

namespace detail {

/// Rows that files have again.
struct repeated_rows {
  std::set<const result::measurement*> rows;
  /// Their numbers, by the file that has them again and the file that had them before.
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts;
};

}  // namespace detail

/// Removes the timings that an earlier row has too, in the same file or in an earlier comparable
/// one: a round is evidence once. Rows are the same if all of their content is, the number of the
/// round and all times included. Files get a note on what they lost.
void drop_repeated_rounds(std::vector<result::results>& files);

/// The notes of all files.
[[nodiscard]] std::vector<std::string> notes_of(const group& files);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/repeated_rounds-inl.hpp>
#endif
