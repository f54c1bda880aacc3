// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/curve/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

/// "batch 16: 45.1 images/s, 355.0 ms per step (between 340.0 and 370.0), interpolated"
[[nodiscard]] inline std::string point_text(const curve& of, const curve_point& one) {
  const int digits = of.digits();
  return fmt::format(
      "{} {}: {} {}, {} ms per step ({}), {}", name(of.over), one.size,
      format::rate(one.per_second(), digits), rate_unit(of),
      format::milliseconds(one.seconds, digits),
      one.has_interval ? format::between({one.low, one.high}, digits) : "interval not known",
      one.slowest > 0
          ? fmt::format("p99 {} ms, {}", format::milliseconds(one.slowest, digits), name(one.from))
          : std::string(name(one.from)));
}

/// The sizes that a table shows.
[[nodiscard]] inline std::set<std::int64_t> shown_sizes(const curve& of) {
  std::set<std::int64_t> shown(of.sizes.begin(), of.sizes.end());
  for (const curve_point* one : {of.fastest(), of.knee(), of.best_within_limit()}) {
    if (one != nullptr) shown.insert(one->size);
  }
  std::int64_t last = 0;
  for (const curve_point& one : of.points) {
    const bool at_end = &one == &of.points.front() || &one == &of.points.back();
    if (!at_end && one.size < 2 * last && !shown.contains(one.size)) continue;
    shown.insert(one.size);
    last = one.size;
  }
  return shown;
}

}  // namespace detail

LAYERBENCH_INLINE std::string rate_unit(const curve& of) {
  return of.measured.front().text ? "tokens/s" : "images/s";
}

LAYERBENCH_INLINE std::string headline(const curve& of) {
  const prediction& first = of.measured.front();
  std::vector<std::string> parts = detail::conditions_of(first.model_case, first.threads);
  std::erase_if(parts, [&](const std::string& part) {
    return part.starts_with(std::string(name(of.over)) + ' ');
  });
  return fmt::format("{} {}, over {}", first.model_case.model, fmt::join(parts, ", "),
                     name(of.over));
}

LAYERBENCH_INLINE std::string summary_text(const curve& of) {
  std::string lines = fmt::format("  measured: {} {}\n", name(of.over), fmt::join(of.sizes, ", "));
  if (const auto& left_out = of.measured.front().left_out) {
    lines += fmt::format("  partial model: {}\n", format::left_out(*left_out));
  }
  if (std::ranges::any_of(of.measured, [](const auto& p) { return !p.missing.empty(); })) {
    lines += "  PARTIAL: some layers have no timing\n";
  }
  if (of.points.empty()) return lines;
  for (const anchor& one : of.anchors) {
    lines += fmt::format("  {} {} end to end: {} of the sum of its layers\n", name(of.over),
                         one.size, format::percent(one.ratio, of.digits()));
  }
  if (of.over != size_axis::context) {  // the shortest one would always be the best
    lines += fmt::format("  highest throughput: {}\n", detail::point_text(of, *of.fastest()));
    lines += fmt::format("  knee, {:.0f} % of it: {}\n", 100 * curve::knee_share,
                         detail::point_text(of, *of.knee()));
  }
  if (of.most_seconds) {
    const curve_point* within = of.best_within_limit();
    lines += fmt::format("  within {} ms: {}\n", format::milliseconds(*of.most_seconds),
                         within == nullptr ? "none" : detail::point_text(of, *within));
  }
  if (of.checks.empty()) return lines;
  double sum = 0;
  double largest = 0;
  for (const left_out_check& check : of.checks) {
    sum += std::abs(check.error());
    largest = std::max(largest, std::abs(check.error()));
  }
  return lines +
         fmt::format(
             "  measured steps left out one at a time: {} off on average, at most {} ({})\n",
             format::percent(sum / static_cast<double>(of.checks.size())), format::percent(largest),
             of.checks.size());
}

LAYERBENCH_INLINE table to_table(const curve& of, bool bars) {
  constexpr std::size_t bar_length = 30;
  using enum align;
  table t{{{std::string(name(of.over)), right},
           {rate_unit(of), right},
           {"ms/step", right},
           {"between", right},
           {"from"}},
          {}};
  const bool has_slowest = of.measured.front().latencies.has_value();
  if (has_slowest) t.columns.insert(t.columns.end() - 1, {"p99 ms", right});
  if (bars) t.columns.push_back({"throughput"});
  const std::set<std::int64_t> shown = detail::shown_sizes(of);
  const int digits = of.digits();
  const double most = of.points.empty() ? 0 : of.fastest()->per_second();
  for (const curve_point& one : of.points) {
    if (!shown.contains(one.size)) continue;
    t.rows.push_back(
        {std::to_string(one.size), format::rate(one.per_second(), digits),
         format::milliseconds(one.seconds, digits),
         one.has_interval ? format::range(stats::interval{one.low, one.high}, digits) : "not known",
         std::string(name(one.from))});
    if (has_slowest) {
      t.rows.back().insert(t.rows.back().end() - 1, format::milliseconds(one.slowest, digits));
    }
    if (!bars) continue;
    t.rows.back().push_back(text_bar(one.per_second() / most, bar_length));
  }
  return t;
}

LAYERBENCH_INLINE std::string text(std::span<const curve> curves) {
  std::string out;
  for (const curve& of : curves) {
    out += (out.empty() ? "" : "\n") + headline(of) + '\n' + summary_text(of) + '\n' +
           text(to_table(of));
  }
  return out + best_text(curves);
}

LAYERBENCH_INLINE std::string best_text(std::span<const curve> curves) {
  std::string out;
  for (const curve* of : best_of(curves)) {
    const curve_point* one = of->best();
    const std::string limit =
        of->most_seconds ? fmt::format(" within {} ms", format::milliseconds(*of->most_seconds))
                         : "";
    out += fmt::format("\nbest of all curves{}: {}\n", limit,
                       one == nullptr
                           ? "none"
                           : fmt::format("{}\n  {}", headline(*of), detail::point_text(*of, *one)));
  }
  return out;
}

LAYERBENCH_INLINE table records(std::span<const curve> curves) {
  table t = table_with_columns(
      "model phase backend dtype threads case over size seconds_per_step seconds_low seconds_high "
      "items_per_second from seconds_p99");
  for (const curve& of : curves) {
    const prediction& first = of.measured.front();
    const result::case_name& model_case = first.model_case;
    for (const curve_point& one : of.points) {
      t.rows.push_back({model_case.model, model_case.phase(), model_case.backend, model_case.dtype,
                        std::to_string(first.threads), model_case.text(),
                        std::string(name(of.over)), std::to_string(one.size),
                        format::exact(one.seconds), one.has_interval ? format::exact(one.low) : "",
                        one.has_interval ? format::exact(one.high) : "",
                        format::exact(one.per_second()), std::string(name(one.from)),
                        one.slowest > 0 ? format::exact(one.slowest) : ""});
    }
  }
  return t;
}

}  // namespace layerbench::analysis
