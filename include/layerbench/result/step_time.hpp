// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <layerbench/base/stats.hpp>
#include <layerbench/result/bootstrap_interval.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/protocol_error.hpp>

/// The time of a step, added up from the timings of its primitives, and how sure it is.
namespace layerbench::result {

/// The kind of interval around a sampled time.
enum class interval_method {
  none,       ///< the time itself: fewer than two rounds have all layers; or most timings were
              ///< disturbed, and there are too few rounds for a 95 % interval
  range,      ///< least and largest sum of a single round: too few rounds for a 95 % interval, or
              ///< most timings were disturbed
  bootstrap,  ///< 95 % interval over rounds
};

/// Share of the rounds of all `terms` that were disturbed.
[[nodiscard]] double disturbed_share(std::span<const term> terms);

/// Whether nothing is known of the error of a sum: it has few rounds, and most timings of it were
/// disturbed. A disturbance may be much larger than the usual error of such sums.
[[nodiscard]] inline bool has_unknown_error(double disturbed, std::size_t rounds) {
  return disturbed > mostly_disturbed && rounds < stats::min_sample_size;
}

/// Time of one step in seconds.
struct step_time {
  double layers;    ///< sum over the layers
  double overhead;  ///< of the framework, given or measured; included in all times below
  double seconds;
  double sampling_low;  ///< interval of `seconds` over the rounds
  double sampling_high;
  interval_method kind;                       ///< the kind of that interval
  std::optional<double> protocol_half_width;  ///< see protocol_error_of(); independent of sampling
  std::size_t protocol_cases = 0;             ///< validated cases of its kind; 0: too few

  /// Adds the framework's own time, which is the same in each round.
  void add_overhead(double more) {
    overhead += more;
    seconds += more;
    sampling_low += more;
    sampling_high += more;
  }

  /// Makes all but the layers longer by the same factor.
  void scale(double factor) {
    for (double* time : {&seconds, &overhead, &sampling_low, &sampling_high}) *time *= factor;
    if (protocol_half_width) *protocol_half_width *= factor;
  }

  /// Sets the error of the protocol, of the time as it is now.
  void set_protocol_error(const std::optional<protocol_error>& known) {
    protocol_half_width.reset();
    if (known) protocol_half_width = known->relative * seconds;
    protocol_cases = known ? known->cases : 0;
  }

  /// low() and high(), if anything is known of the error.
  [[nodiscard]] std::optional<stats::interval> interval() const {
    if (kind == interval_method::none && !(low() < high())) return std::nullopt;
    return stats::interval{low(), high()};
  }

  /// The interval of both errors: the half widths of independent intervals add in quadrature.
  [[nodiscard]] double low() const {
    return seconds -
           stats::root_of_squares(seconds - sampling_low, protocol_half_width.value_or(0));
  }
  [[nodiscard]] double high() const {
    return seconds +
           stats::root_of_squares(sampling_high - seconds, protocol_half_width.value_or(0));
  }
};

/// A step of `seconds`, the sum of `terms`, with an interval from the rounds that all primitives
/// have; `rounds` becomes their number. If most timings were disturbed, it spans the sums of all
/// single rounds. If layers count in different rounds, the sum may lie outside the range of single
/// rounds; the interval is then extended to it.
[[nodiscard]] step_time add_up(double seconds, std::span<const term> terms, std::size_t& rounds);

/// The sum of a step's timings.
struct step_sum {
  step_time time;
  std::size_t rounds;  ///< that all primitives have
  double disturbed;    ///< share of the timings
};

/// add_up(), with the error of such sums on `backend` if they have a `kind` (step_kind()): only
/// sums of `cache:model` timings have. Without an interval where has_unknown_error().
[[nodiscard]] step_sum sum_of_step(double seconds, std::span<const term> terms,
                                   std::string_view backend, std::optional<std::string_view> kind);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/step_time-inl.hpp>
#endif
