// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/predict/bounds.hpp>
#include <layerbench/report/composition.hpp>
#include <layerbench/report/number.hpp>
#include <layerbench/report/peaks.hpp>
#include <layerbench/report/table.hpp>

/// What limits a step, for people.
namespace layerbench::report {

namespace detail {

[[nodiscard]] inline share_list shares_by_bound(const predict::prediction& p) {
  return shares_by(p, [](const predict::layer_time& each) {
    return each.roofs ? each.roofs->bound() : std::string("unknown");
  });
}

[[nodiscard]] inline std::string what_if_text(const predict::prediction& p) {
  std::vector<std::string> words;
  for (const auto& [change, seconds] : predict::what_ifs(p)) {
    words.push_back(fmt::format("{}: {} ms a step ({})", change, milliseconds(seconds),
                                signed_percent(seconds / p.step->seconds - 1)));
  }
  return words.empty() ? "" : fmt::format("  what if: {}\n", fmt::join(words, "; "));
}

/// Names the layers above 100 %.
[[nodiscard]] inline std::string above_peak(const predict::prediction& p) {
  std::vector<std::string> words;
  for (const predict::layer_time& each : p.layers) {
    if (predict::share_of_peak(each).value_or(0) <= 1) continue;
    words.push_back(fmt::format("{} ({})", each.call_name(), percent_of_peak(each)));
  }
  if (words.empty()) return "";
  return fmt::format(
      "  above 100 % of the peak: {}: fewer operations than are counted (Winograd), operands "
      "nearer than assumed, or peaks of a slower time\n",
      fmt::join(words, ", "));
}

/// What limits the step, a line each.
[[nodiscard]] inline std::string limits(const predict::prediction& p) {
  if (p.layers.empty()) return "";
  if (!p.limits) {
    return fmt::format(
        "  by bound: not known without the peaks of {} {} on {} thread{}; bench_peak measures "
        "them, --peaks reads them\n",
        p.owner.backend, p.owner.dtype, p.threads, p.threads == 1 ? "" : "s");
  }
  return fmt::format("  by bound: {}\n  peaks: {}; {} GB/s from memory\n",
                     shares_text(shares_by_bound(p)), attained(*p.limits),
                     giga(p.limits->levels.back().read)) +
         what_if_text(p) + above_peak(p);
}

}  // namespace detail

/// The layers with most time above their roofs.
[[nodiscard]] inline table candidates(const predict::prediction& p, std::size_t most = 10) {
  table t{{{"worth optimising"},
           {"op"},
           {"count", align::right},
           {"time a call", align::right},
           {"at its peak", align::right},
           {"bound"},
           {"of peak", align::right},
           {"ms a step to gain", align::right}},
          {}};
  for (const predict::layer_time& each : predict::worth_optimising(p, most)) {
    t.rows.push_back({each.call_name(), each.op, std::to_string(each.count),
                      units::duration(each.seconds), units::duration(each.roofs->seconds()),
                      detail::bound_of(each), detail::percent_of_peak(each),
                      detail::milliseconds(predict::seconds_above(each))});
  }
  return t;
}

}  // namespace layerbench::report
