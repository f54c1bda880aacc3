// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/roofline/bounds.hpp>
#include <layerbench/analysis/roofline/peaks_text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/report/op_breakdown.hpp>

/// What limits a step, for people.
namespace layerbench::report {

namespace detail {

[[nodiscard]] inline share_list shares_by_bound(const analysis::prediction& p) {
  return shares_by(p, [](const analysis::layer_time& layer_time) {
    return layer_time.roofs ? layer_time.roofs->bound() : std::string("unknown");
  });
}

[[nodiscard]] inline std::string what_if_text(const analysis::prediction& p) {
  std::vector<std::string> words;
  for (const auto& [change, seconds] : analysis::what_ifs(p)) {
    words.push_back(fmt::format("{}: {} ms a step ({})", change, milliseconds(seconds),
                                signed_percent(seconds / p.step->seconds - 1)));
  }
  return words.empty() ? "" : fmt::format("  what if: {}\n", fmt::join(words, "; "));
}

/// Names the layers above 100 %.
[[nodiscard]] inline std::string above_peak(const analysis::prediction& p) {
  std::vector<std::string> words;
  for (const analysis::layer_time& layer : p.layers) {
    if (analysis::share_of_peak(layer).value_or(0) <= 1) continue;
    words.push_back(fmt::format("{} ({})", layer.call_name(), percent_of_peak(layer)));
  }
  if (words.empty()) return "";
  return fmt::format(
      "  above 100 % of the peak: {}: fewer operations than are counted (Winograd), operands "
      "nearer than assumed, or peaks of a slower time\n",
      fmt::join(words, ", "));
}

/// What limits the step, a line each.
[[nodiscard]] inline std::string limits(const analysis::prediction& p) {
  if (p.layers.empty()) return "";
  if (!p.limits) {
    return fmt::format(
        "  by bound: not known without the peaks of {} {} on {} thread{}; bench_peak measures "
        "them, --peaks reads them\n",
        p.configuration.backend, p.configuration.dtype, p.threads, p.threads == 1 ? "" : "s");
  }
  return fmt::format("  by bound: {}\n  peaks: {}; {} GB/s from memory\n",
                     shares_text(shares_by_bound(p)), attained(*p.limits),
                     giga(p.limits->levels.back().read)) +
         what_if_text(p) + above_peak(p);
}

}  // namespace detail

/// The layers with most time above their roofs.
[[nodiscard]] inline table candidates(const analysis::prediction& p, std::size_t most = 10) {
  table t{{{"worth optimising"},
           {"op"},
           {"count", align::right},
           {"time a call", align::right},
           {"at its peak", align::right},
           {"bound"},
           {"of peak", align::right},
           {"ms a step to gain", align::right}},
          {}};
  for (const analysis::layer_time& layer_time : analysis::worth_optimising(p, most)) {
    t.rows.push_back({layer_time.call_name(), layer_time.op, std::to_string(layer_time.count),
                      units::duration(layer_time.seconds),
                      units::duration(layer_time.roofs->seconds()), detail::bound_of(layer_time),
                      detail::percent_of_peak(layer_time),
                      detail::milliseconds(analysis::seconds_above(layer_time))});
  }
  return t;
}

}  // namespace layerbench::report
