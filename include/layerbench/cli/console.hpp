// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/analysis/predict/timings.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/cli/reporter.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/short_names.hpp>
#include <layerbench/session/options.hpp>

/// The table for people: one line per row, like Google Benchmark's console.
namespace layerbench::run {

namespace detail {

/// The columns after the name: 45 characters, and the share of a peak on GPUs. Colours take no
/// width.
constexpr std::string_view console_columns = " {}{:>8} {:>8}{} {}{:>10}{} {:>7} {:>7}{}\n";

/// The counter of communication rows, in bytes per second.
constexpr std::string_view communication_rate = "algorithm_bandwidth";

struct palette {
  std::string_view name, time, calls, error, off;
};

[[nodiscard]] inline palette colors(bool on) {
  if (!on) return {};
  return {"\x1b[0;32m", "\x1b[0;33m", "\x1b[0;36m", "\x1b[0;31m", "\x1b[m"};  // as Google Benchmark
}

[[nodiscard]] inline bool wants_color(const options& o) {
  if (o.color != "auto") return o.color == "true" || o.color == "yes" || o.color == "1";
  const char* off = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (off == nullptr || *off == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

/// About four digits without an exponent.
[[nodiscard]] inline std::string giga(double per_second) {
  const double value = per_second * 1e-9;
  return fmt::format("{:.{}f}", value, value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3);
}

/// Whether a row has a share of a peak of its device.
[[nodiscard]] inline bool has_share_of_peak(const result::measurement& row) {
  return row.counters.contains("flops_of_peak") || row.counters.contains("bytes_of_peak");
}

/// The larger share of a peak, such as "74%c", where the time is `faster` times shorter than that
/// of the counters `of`; "-" where none is known.
[[nodiscard]] inline std::string share_of_peak(const result::counters& of, double faster) {
  const auto share = [&](std::string_view name) {
    const auto found = of.find(name);
    return found == of.end() ? 0.0 : faster * found->second;
  };
  const double compute = share("flops_of_peak");
  const double memory = share("bytes_of_peak");
  if (compute == 0 && memory == 0) return "-";
  return fmt::format("{:.0f}%{}", 100 * std::max(compute, memory), compute > memory ? 'c' : 'm');
}

/// "3.1%", and from 1000 % on a multiple of the time: "12x".
[[nodiscard]] inline std::string spread_text(double spread) {
  return spread < 10 ? fmt::format("{:.1f}%", 100 * spread) : fmt::format("{:.0f}x", spread);
}

/// The line of one row, called `shown`. Its time is the one that predictions and validations use.
[[nodiscard]] inline std::string console_line(const rounds& row, const std::string& shown,
                                              std::size_t width, const palette& paint,
                                              bool with_peaks) {
  const std::string name = fmt::format("{}{:<{}}{}", paint.name, shown, width, paint.off);
  analysis::timing of;
  std::vector<double> cpu;
  std::int64_t calls = 0;
  for (const result::measurement* round : row) {
    if (!round->error.empty()) {
      return fmt::format("{} {}ERROR OCCURRED: '{}'{}\n", name, paint.error,
                         printable(round->error), paint.off);
    }
    analysis::detail::add_round(*round, {0, std::ssize(of.rounds)}, of);
    cpu.push_back(round->cpu_seconds);
    calls += round->calls;
  }
  const double seconds = of.seconds();
  const auto [least, most] = std::ranges::minmax(std::views::values(of.rounds));
  const auto counter = [&](std::string_view which) {
    const auto found = row.front()->counters.find(which);
    return found == row.front()->counters.end() ? 0.0 : found->second;
  };
  const double flops = counter("flops_exact");
  const double moved = counter(communication_rate) * row.front()->seconds;
  const std::string rate = flops > 0   ? giga(flops / seconds)
                           : moved > 0 ? giga(moved / seconds)
                                       : "-";
  const std::string spread = row.size() < 2 ? "-" : spread_text((most - least) / seconds);
  return name + fmt::format(console_columns, paint.time, units::si(seconds, "s"),
                            units::si(stats::median(cpu), "s"), paint.off, paint.calls, calls,
                            paint.off, rate, spread,
                            with_peaks
                                ? fmt::format(" {:>5}",
                                              share_of_peak(row.front()->counters,
                                                            row.front()->mean_seconds() / seconds))
                                : "");
}

}  // namespace detail

/// `rows` as a table, in the order of their first round; docs/formats.md defines its columns. What
/// all names share stands above it, unless `wide`. `has_events`: events of a GPU time rows.
[[nodiscard]] inline std::string console_table(const std::vector<result::measurement>& rows,
                                               bool color, bool wide = false,
                                               bool has_events = false) {
  const std::vector<detail::rounds> all = detail::by_row(rows);
  std::vector<std::string> whole_names;
  for (const detail::rounds& row : all) whole_names.push_back(row.front()->name.text());
  const result::short_names names = result::table_names_of(whole_names, wide);
  std::size_t width = 10;
  for (const std::string& name : names.own) width = std::max(width, name.size());
  const auto sends = [](const result::measurement& row) {
    return row.counters.contains(detail::communication_rate);
  };
  const bool communicates = std::ranges::any_of(rows, sends);
  const bool computes = std::ranges::any_of(
      rows, [&](const result::measurement& row) { return row.error.empty() && !sends(row); });
  const bool with_peaks = std::ranges::any_of(rows, detail::has_share_of_peak);
  const bool both = communicates && computes;
  const std::string_view rate = both ? "G/s" : communicates ? "GB/s" : "GFLOP/s";
  const std::string head =
      fmt::format("{:<{}}", "Benchmark", width) + fmt::format(detail::console_columns, "", "Time",
                                                              "CPU", "", "", "Iterations", "", rate,
                                                              "spread", with_peaks ? "  peak" : "");
  const std::string rule = std::string(head.size() - 1, '-') + '\n';
  const std::string_view clock =
      communicates && !computes ? "wall time of the first rank, on GPUs between events"
      : has_events ? "GPU: between events; CPU: on one thread its CPU time, else wall time"
                   : "on one thread its CPU time, on several wall time";
  std::string text =
      fmt::format(
          "Time: mean of the undisturbed rounds, as in predictions ({})\n"
          "CPU: CPU time of all threads per call, median over rounds\n"
          "spread: (slowest - fastest round) / Time, of all rounds\n",
          clock) +
      (both ? "G/s: GFLOP/s, and GB/s of what ranks send\n" : "") +
      (with_peaks ? "peak: the larger share of the GPU's peaks, of compute (c) or memory (m)\n"
                  : "") +
      (names.shared.empty() ? "" : fmt::format("rows: {}\n", names.shared)) + rule + head + rule;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += detail::console_line(all[i], names.own[i], width, detail::colors(color), with_peaks);
  }
  return text;
}

}  // namespace layerbench::run
