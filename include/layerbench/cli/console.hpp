// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/cli/google_formats.hpp>
#include <layerbench/result/google_json_reader.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/short_names.hpp>
#include <layerbench/session/options.hpp>

/// The table for people: one line per row, like Google Benchmark's console.
namespace layerbench::run {

namespace detail {

/// The columns after the name: 45 characters where times take 8, and the share of a peak on GPUs.
/// Colours take no width.
constexpr std::string_view console_columns = " {}{:>{}} {:>{}}{} {}{:>10}{} {:>7} {:>7}{}\n";
constexpr std::size_t console_time_width = 8;

/// The counter of communication rows, in bytes per second.
constexpr std::string_view communication_rate = "algorithm_bandwidth";

struct palette {
  std::string_view name, time, calls, error, off;
};

/// How the table of rows looks, beside its colours and names.
struct console_form {
  std::string unit = {};     ///< of times; empty: one that fits each
  bool percentiles = false;  ///< in place of the time, the CPU time and the calls
  std::size_t columns = 0;   ///< of the terminal; 0: as many as the names need
  std::int64_t threads = 0;  ///< of all rows; 0: they differ
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

/// The time in `unit`, ns, us, ms or s, with three significant digits; in a unit that fits if it is
/// empty.
[[nodiscard]] inline std::string time_text(double seconds, std::string_view unit) {
  if (unit.empty() || !(seconds > 0)) return units::si(seconds, "s");
  const double scaled = seconds * result::detail::units_per_second(unit);
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(scaled))), 0, 9);
  return fmt::format("{:.{}f} {}", scaled, digits, unit);
}

/// The median over the rounds of a counter of times; "-" where no round has it.
[[nodiscard]] inline std::string counter_text(const rounds& row, std::string_view counter,
                                              std::string_view unit) {
  std::vector<double> seconds;
  for (const result::measurement* round : row) {
    const auto found = round->counters.find(counter);
    if (found != round->counters.end()) seconds.push_back(found->second);
  }
  return seconds.empty() ? "-" : time_text(stats::median(seconds), unit);
}

/// Whether the time of a row may be one of disturbed rounds.
[[nodiscard]] inline bool mostly_disturbed(const rounds& row) {
  const auto count = std::ranges::count_if(row, &result::measurement::disturbed);
  return static_cast<double>(count) > result::mostly_disturbed * static_cast<double>(row.size());
}

/// Columns that the longest time takes.
[[nodiscard]] inline std::size_t time_width(const std::vector<result::measurement>& rows,
                                            const std::string& unit) {
  std::size_t width = console_time_width;
  for (const result::measurement& row : rows) {
    if (!row.error.empty() || unit.empty()) continue;
    for (const double seconds : {row.seconds, row.cpu_seconds})
      width = std::max(width, time_text(seconds, unit).size() + (row.disturbed() ? 1 : 0));
  }
  return width;
}

/// The line of one row, called `shown`. Its time is the one that predictions and validations use.
/// Names that are wider than `width` have a line of their own.
[[nodiscard]] inline std::string console_line(const rounds& row, const std::string& shown,
                                              std::size_t width, std::size_t time_width,
                                              const palette& paint, bool with_peaks,
                                              const console_form& form) {
  const std::string plain = without_controls(shown, /*one_line=*/true);
  const std::string name =
      plain.size() > width ? fmt::format("{}{}{}\n{:<{}}", paint.name, plain, paint.off, "", width)
                           : fmt::format("{}{:<{}}{}", paint.name, plain, width, paint.off);
  analysis::timing of;
  std::vector<double> medians;
  std::vector<double> cpu;
  std::int64_t calls = 0;
  for (const result::measurement* round : row) {
    if (!round->error.empty()) {
      const std::string why = without_controls(printable(round->error));
      return fmt::format("{} {}{}{}\n", name, paint.error,
                         round->left_out() ? why : fmt::format("ERROR OCCURRED: '{}'", why),
                         paint.off);
    }
    of.add({0, std::ssize(of.rounds)}, *round);
    medians.push_back(round->seconds);
    calls += round->calls;
  }
  const double seconds = of.seconds();
  for (const auto& [round, time] : of.counted()) {
    cpu.push_back(row[static_cast<std::size_t>(round.second)]->cpu_seconds);
  }
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
  return name +
         fmt::format(
             console_columns, paint.time,
             (mostly_disturbed(row) ? "~" : "") +
                 time_text(form.percentiles ? stats::median(medians) : seconds, form.unit),
             time_width,
             form.percentiles ? counter_text(row, "p95_s", form.unit)
                              : time_text(stats::median(cpu), form.unit),
             time_width, paint.off, paint.calls,
             form.percentiles ? counter_text(row, "p99_s", form.unit) : fmt::to_string(calls),
             paint.off, rate, spread,
             with_peaks
                 ? fmt::format(" {:>5}", share_of_peak(row.front()->counters,
                                                       row.front()->mean_seconds() / seconds))
                 : "");
}

}  // namespace detail

/// `rows` as a table, in the order of their first round; docs/formats.md defines its columns. What
/// all names share stands above it, unless `wide`. `has_events`: events of a GPU time rows.
[[nodiscard]] inline std::string console_table(const std::vector<result::measurement>& rows,
                                               bool color, bool wide = false,
                                               bool has_events = false,
                                               const detail::console_form& form = {}) {
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
  const std::size_t time_width = detail::time_width(rows, form.unit);
  const auto head_of = [&](std::size_t name_width) {
    return fmt::format("{:<{}}", "Benchmark", name_width) +
           fmt::format(detail::console_columns, "", form.percentiles ? "p50" : "Time", time_width,
                       form.percentiles ? "p95" : "CPU", time_width, "", "",
                       form.percentiles ? "p99" : "Iterations", "", rate, "spread",
                       with_peaks ? "  peak" : "");
  };
  const std::size_t whole = head_of(width).size() - 1;
  if (form.columns > 0 && whole > form.columns) width -= std::min(width - 10, whole - form.columns);
  const std::string head = head_of(width);
  const std::string rule = std::string(head.size() - 1, '-') + '\n';
  const std::string clock =
      communicates && !computes ? "wall time of the first rank, on GPUs between events"
      : has_events       ? "GPU: between events; CPU: on one thread its CPU time, else wall time"
      : form.threads > 1 ? fmt::format("wall time, on {} threads", form.threads)
      : form.threads > 0 ? "CPU time of the one thread"
                         : "on one thread its CPU time, on several wall time";
  const bool repeats = std::ranges::any_of(rows, [](const result::measurement& row) {
    const auto count = row.counters.find("count");
    return count != row.counters.end() && count->second > 1;
  });
  std::string text =
      std::string(form.percentiles
                      ? "p50, p95, p99: of the samples of a round, median over rounds\n"
                      : "Time: mean of the undisturbed rounds, as in predictions\n"
                        "CPU: CPU time of all threads per call, median of the same rounds\n") +
      (std::ranges::any_of(all, detail::mostly_disturbed)
           ? "~: most rounds were disturbed; of all rounds, if fewer than 3 were not\n"
           : "") +
      (repeats ? "equal layers of a model have one row, under the name of the first\n" : "") +
      fmt::format("clock: {}\nspread: (slowest - fastest round) / Time, of all rounds\n", clock) +
      (both ? "G/s: GFLOP/s, and GB/s of what ranks send\n" : "") +
      (with_peaks ? "peak: the larger share of the GPU's peaks, of compute (c) or memory (m)\n"
                  : "") +
      (names.shared.empty() ? "" : fmt::format("rows: {}\n", without_controls(names.shared)));
  text = fitted(text, form.columns) + rule + head + rule;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += detail::console_line(all[i], names.own[i], width, time_width, detail::colors(color),
                                 with_peaks, form);
  }
  return text;
}

}  // namespace layerbench::run
