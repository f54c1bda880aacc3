// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/explain/explain.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/shape/record.hpp>

/// Explanations as text and as CSV.
namespace layerbench::analysis {

/// A row per call of the step, in its order.
[[nodiscard]] inline table to_table(const explanation& of) {
  table result{{{"layer"},
                {"implementation"},
                {"ms", align::right},
                {"here, model", align::right},
                {"hot", align::right},
                {"cold", align::right},
                {"cause"},
                {"ms of it", align::right}},
               {}};
  for (const explained_call& call : of.calls) {
    const auto measured = [&](std::string_view cache) {
      const auto found = call.by_cache.find(cache);
      return found == call.by_cache.end() ? "" : format::milliseconds(found->second);
    };
    result.rows.push_back({call.layer, call.primitive->implementation,
                           format::milliseconds(call.seconds), measured("model"), measured("hot"),
                           measured("cold"), call.cause ? std::string(name(*call.cause)) : "",
                           call.cause ? format::milliseconds(call.gain) : ""});
  }
  return result;
}

/// The step, what could be gained, the largest first, and the `most` longest calls.
[[nodiscard]] inline std::string text(const explanation& of, std::size_t most) {
  const auto ms = [](double seconds) { return format::milliseconds(seconds); };
  std::string result = of.log->library;
  if (!of.log->version.empty()) result += ' ' + of.log->version;
  if (!of.log->isa.empty()) result += ", " + of.log->isa;
  if (of.log->threads > 0) {
    result += fmt::format(", {} thread{}", of.log->threads, of.log->threads == 1 ? "" : "s");
  }
  result +=
      fmt::format("; {} step{} of {} calls\n", of.steps, of.steps == 1 ? "" : "s", of.calls.size());
  result += fmt::format(
      "per step {} ms in calls, {} ms in the usual one; {}; {}\n", ms(of.seconds), ms(of.usual),
      of.creation ? ms(*of.creation) + " ms in creation" : "creation not logged",
      of.between ? ms(*of.between) + " ms between calls" : "time between calls unknown");
  if (of.warm_up + of.tail > 0) {
    result += fmt::format("beside the steps {} ms of calls before and {} ms behind them\n",
                          ms(of.warm_up), ms(of.tail));
  }
  table gains{
      {{"what could be gained"}, {"ms per step", align::right}, {"calls", align::right}, {"where"}},
      {}};
  constexpr double least = 1e-3;  // of the step
  for (const gain& one : of.gains) {
    if (one.seconds < least * of.usual) continue;
    gains.rows.push_back({std::string(name(one.cause)),
                          (one.at_most ? "up to " : "") + ms(one.seconds),
                          std::to_string(one.calls), one.text});
  }
  gains.rows.push_back({"no cause found", ms(of.remainder()), "", "the rest of the calls"});
  result += '\n' + text(gains);
  for (const std::string& note : of.notes) result += "note: " + note + '\n';
  table calls = to_table(of);
  std::vector<std::size_t> order(of.calls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return of.calls[i].seconds; });
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    rows.push_back(calls.rows[order[i]]);
  calls.rows = std::move(rows);
  result += '\n' + text(calls);
  if (order.size() > most) {
    result += fmt::format("and {} shorter calls; --top shows more\n", order.size() - most);
  }
  return result;
}

}  // namespace layerbench::analysis
