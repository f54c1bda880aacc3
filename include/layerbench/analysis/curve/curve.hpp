// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>

/// Steps of a model at sizes that were not measured, from those that were.
namespace layerbench::analysis {

/// What a curve goes over.
enum class size_axis : std::uint8_t { batch, tokens, context };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(size_axis /*tag*/) {
  return {"batch", "tokens", "context"};
}

/// The size of a case on an axis; nothing where it is not known.
[[nodiscard]] std::optional<std::int64_t> size_of(const prediction& p, size_axis over);

/// A size in octaves. A context may be 0.
[[nodiscard]] inline double octave(std::int64_t size) {
  return std::log2(static_cast<double>(size) + 1);
}

/// Where the time of a step is from. Beyond the largest measured size lines are continued.
enum class point_source : std::uint8_t { measured, interpolated, extrapolated };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(point_source /*tag*/) {
  return {"measured", "interpolated", "extrapolated"};
}

/// The step at one size, with a 95 % interval. Without one, `low` and `high` have the departure
/// from the lines alone.
struct curve_point {
  std::int64_t size;
  double seconds;
  double low;
  double high;
  double items;  ///< images, or tokens of models of texts, in the step
  point_source from;
  bool has_interval;   ///< false: too many timings of a measured neighbour were disturbed
  double slowest = 0;  ///< seconds of the slowest step of a hundred (p99); 0: not known

  [[nodiscard]] double per_second() const { return items / seconds; }
  /// The seconds that must not exceed a limit: of one stream the end of the interval, of several
  /// those of the slowest step of a hundred, too.
  [[nodiscard]] double latency() const { return std::max(high, slowest); }
  /// Half of the interval, relative to the time.
  [[nodiscard]] double width() const { return (high - low) / 2 / seconds; }
};

/// A measured step, and what the other measured steps predict for it.
struct left_out_check {
  std::int64_t size;
  double measured;   ///< seconds
  double predicted;  ///< seconds

  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// The end-to-end run of a step (a chain), relative to the sum of its layers.
struct anchor {
  std::int64_t size;
  double ratio;
};

/// Seconds of end-to-end runs, by their case and file.
using chain_seconds = std::map<std::pair<result::case_name, std::string>, double>;

[[nodiscard]] chain_seconds chains_in(std::span<const result::results> files);

/// What is wanted of curves.
struct curve_options {
  std::optional<size_axis> over = {};    ///< nothing: each that has two sizes or more
  std::vector<std::int64_t> sizes = {};  ///< empty: all from the least to the largest measured one
  std::optional<double> most_seconds = {};  ///< of a step
  chain_seconds chains = {};                ///< that anchor the curves
  std::size_t least_sizes = 2;              ///< measured ones, two at least
};

/// The steps of a case over the batch, or over the lengths of texts.
struct curve {
  /// The least size with that share of the highest throughput is the knee.
  static constexpr double knee_share = 0.9;

  size_axis over;
  std::vector<prediction> measured;    ///< ascending
  std::vector<std::int64_t> sizes;     ///< of `measured`
  std::vector<curve_point> points;     ///< ascending
  std::vector<left_out_check> checks;  ///< of steps between two others
  std::vector<anchor> anchors;         ///< ascending
  double spread = 0;  ///< standard deviation from the lines, relative, at one octave of work
  std::optional<double> most_seconds = {};

  /// Significant digits of the times that texts show.
  [[nodiscard]] int digits() const;
  /// The point of the highest throughput; null without points.
  [[nodiscard]] const curve_point* fastest() const;
  /// The first point with knee_share of the highest throughput.
  [[nodiscard]] const curve_point* knee() const;
  /// The point of the highest throughput, or of the longest context, among those whose latency()
  /// is at most `most_seconds`; null if there is none.
  [[nodiscard]] const curve_point* best_within_limit() const;
  /// The point that is best: within the limit if there is one, else the fastest; null if none is.
  [[nodiscard]] const curve_point* best() const {
    return most_seconds ? best_within_limit() : fastest();
  }
  /// The point of that size; null if it is not among the points.
  [[nodiscard]] const curve_point* at(std::int64_t size) const;
};

/// The curves of all cases that were measured at `least_sizes` or more. Layers are matched by their
/// place in the step. Each takes a + b * size^p seconds between two measured neighbours, where p,
/// from 1 to 2, is the power by which its FLOPs grow: the interpolated time of a call is between
/// those of its neighbours. The interval joins, in quadrature, that of the neighbours and the
/// departure from such lines. The latter is modelled as a Brownian bridge over octaves of work (the
/// conditional distribution of a random walk between two known values), whose spread is estimated
/// by leaving each measured step out. Extrapolated times have a random walk without a second end.
/// Where chains were measured, all times are multiplied by the ratios of chains and sums,
/// interpolated over octaves of size, which leaves the relative intervals as they are.
[[nodiscard]] std::vector<curve> curves_of(std::span<const prediction> predictions,
                                           const curve_options& wanted = {});

/// For each model and phase, by the lengths of its texts, with several curves over one axis, of
/// other threads, streams or conditions: the one whose best() point has the highest throughput.
/// Those over contexts only with a limit, since the shortest one would be the best.
[[nodiscard]] std::vector<const curve*> best_of(std::span<const curve> curves);

/// The size to measure next: that of the widest interval, relative to its time, up to `most`. Of
/// nearly equal ones it is odd where the measured size before is even, and the reverse: libraries
/// are slower at sizes that are no multiples of their blocks. Never one of `tried`. Nothing where
/// no interval is wider than `goal`.
[[nodiscard]] std::optional<std::int64_t> next_size(const curve& of, double goal, std::int64_t most,
                                                    const std::set<std::int64_t>& tried = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/curve/curve-inl.hpp>
#endif
