// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>

/// The timings of primitives, merged from the rows that share an identity.
namespace layerbench::analysis {

/// A round of measuring: the number of the row's series of rounds, and the round in it. Files that
/// have the same row, and rows of one file that share an identity, are separate series.
using round_id = std::pair<std::size_t, std::int64_t>;

/// The timings of one primitive, or of an end-to-end run.
struct timing {
  std::map<round_id, double> rounds;        ///< seconds of one call
  std::set<round_id> disturbed = {};        ///< rounds in which something else used the processors
  std::vector<std::size_t> runs = {};       ///< for each series, the number of its file
  std::optional<double> flops = {};         ///< FLOPs of one call, without those on padding
  std::optional<double> padded_flops = {};  ///< FLOPs of one call, with those on padding
  bool own = false;                         ///< from rows of the case itself

  /// The rounds that count. Disturbed rounds only count if fewer than three others remain. Rounds
  /// far above the others do not count if they are rare.
  [[nodiscard]] std::map<round_id, double> counted() const;

  [[nodiscard]] double seconds() const;

  /// The rounds of one run.
  [[nodiscard]] timing of_run(std::size_t run) const;

  /// Appends the rounds of `other` as further series.
  void append(const timing& other);

 private:
  /// The undisturbed rounds; all rounds if fewer than three are undisturbed.
  [[nodiscard]] std::map<round_id, double> undisturbed() const;
  [[nodiscard]] static std::vector<double> values_of(const std::map<round_id, double>& all);
};

/// The time of one call that is added up to the time of a step: the mean without stalls if the row
/// has it. Hot timings are added up by their medians, as is usual. Contended rows use the mean,
/// because only the mean shows the time spent waiting for a processor.
[[nodiscard]] double estimated_seconds(const result::measurement& row);

namespace detail {

void add_round(const result::measurement& row, const round_id& round, timing& to);

}  // namespace detail

/// Timings by identity (result::identity) and by the case of their rows.
class timings {
 public:
  /// Adds the rows of `file` that have a timing.
  void add(const result::results& file);

  /// The timing of that identity for a case: from the case's own rows if it has any, else from the
  /// rows of all other cases.
  [[nodiscard]] std::optional<timing> find(const std::string& identity,
                                           const result::case_name& model_case) const;

 private:
  using case_timing = std::pair<result::case_name, timing>;

  timing& of_case(const std::string& identity, const result::case_name& model_case);

  std::map<std::string, std::vector<case_timing>> by_identity_;
  std::size_t files_ = 0;
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/timings-inl.hpp>
#endif
