// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <layerbench/base/compiled.hpp>
#include <layerbench/result/step_time.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE double disturbed_share(std::span<const term> terms) {
  double rounds = 0;
  double disturbed = 0;
  for (const term& one : terms) {
    rounds += static_cast<double>(one.of->rounds.size());
    disturbed += static_cast<double>(one.of->disturbed.size());
  }
  return rounds > 0 ? disturbed / rounds : 0;
}

LAYERBENCH_INLINE step_time add_up(double seconds, std::span<const term> terms,
                                   std::size_t& rounds) {
  const std::vector<round_id> common = common_rounds(terms);
  rounds = common.size();
  interval_method kind = common.size() < 2 ? interval_method::none : interval_method::range;
  std::optional<stats::interval> interval = range_of_disturbed(terms, common);
  if (!interval) {
    interval = bootstrap_interval(terms, common);
    if (interval) kind = interval_method::bootstrap;
  }
  if (!interval) {
    interval = range_of_rounds(terms, common).value_or(stats::interval{seconds, seconds});
  }
  return {seconds, 0, seconds, std::min(seconds, interval->low), std::max(seconds, interval->high),
          kind,    {}};
}

LAYERBENCH_INLINE step_sum sum_of_step(double seconds, std::span<const term> terms,
                                       std::string_view backend,
                                       std::optional<std::string_view> kind) {
  step_sum sum{{}, 0, disturbed_share(terms)};
  sum.time = add_up(seconds, terms, sum.rounds);
  if (has_unknown_error(sum.disturbed, sum.rounds)) {
    sum.time.sampling_low = sum.time.sampling_high = seconds;
    sum.time.kind = interval_method::none;
  } else if (kind) {
    sum.time.set_protocol_error(protocol_error_of({backend, *kind, sum.disturbed, seconds}));
  }
  return sum;
}

}  // namespace layerbench::result
