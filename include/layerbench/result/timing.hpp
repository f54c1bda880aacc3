// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/result/measurement.hpp>

/// The rounds of a primitive's timing, and which of them count.
namespace layerbench::result {

/// A round of measuring: the number of the row's series of rounds, and the round in it. Files that
/// have the same row, and rows of one file that share an identity, are separate series.
using round_id = std::pair<std::size_t, std::int64_t>;

/// The timings of one primitive, or of an end-to-end run.
struct timing {
  std::map<round_id, double> rounds;        ///< seconds of one call
  std::set<round_id> disturbed = {};        ///< rounds in which something else used the processors
  std::set<round_id> slowed = {};           ///< those of them in which the processors were slow
  std::vector<std::size_t> runs = {};       ///< for each series, the number of its file
  std::optional<double> flops = {};         ///< FLOPs of one call, without those on padding
  std::optional<double> padded_flops = {};  ///< FLOPs of one call, with those on padding
  bool own = false;                         ///< from rows of the case itself

  /// The rounds that count: the undisturbed ones if there are three or more, else those that are
  /// not slowed, else all. Rare rounds far above the others do not count.
  [[nodiscard]] std::map<round_id, double> counted() const;

  [[nodiscard]] double seconds() const;

  /// Adds the time, marks and FLOPs of a row as one round.
  void add(const round_id& round, const measurement& row);

  /// The rounds of one run.
  [[nodiscard]] timing of_run(std::size_t run) const;

  /// Appends the rounds of `other` as further series.
  void append(const timing& other);

 private:
  /// The undisturbed rounds. If they are fewer than three: those that are not slowed, else all.
  [[nodiscard]] std::map<round_id, double> undisturbed() const;
  [[nodiscard]] static std::vector<double> values_of(const std::map<round_id, double>& all);
};

/// A timing of a step, by the name of its op.
struct timing_of_op {
  std::string_view op;
  timing* rounds;
};

/// Divides slowed rounds by the slowdown of their op: the median, over the op's timings with slowed
/// and other rounds, of the ratio of their means. An op with fewer such timings than
/// stats::min_sample_size stays as it is, since slowdowns differ between ops: those bound by memory
/// are slowed less.
void correct_slowed_rounds(std::span<const timing_of_op> step);

/// The time of one call that is added up to the time of a step: the mean without stalls if the row
/// has it. Hot timings are added up by their medians, as is usual. Contended rows use the mean,
/// because only the mean shows the time spent waiting for a processor.
[[nodiscard]] double estimated_seconds(const measurement& row);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/timing-inl.hpp>
#endif
