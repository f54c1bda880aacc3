// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/roofline/bottlenecks.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/units.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::string gigaflops(const layer_time& layer) {
  const double flops = layer.flops.value_or(0);
  return flops > 0 ? format::four_digits(flops / layer.seconds * 1e-9) : "";
}

LAYERBENCH_INLINE std::string percent_of_peak(const layer_time& layer) {
  const auto share = share_of_roof(layer);
  return share ? format::percent(*share) : "";
}

LAYERBENCH_INLINE std::string giga(double per_second) {
  return per_second > 0 ? format::four_digits(per_second * 1e-9) : "";
}

namespace detail {

/// "118.2 GFLOP/s; a call takes 610 ns at least".
[[nodiscard]] inline std::string peaks_line(const peaks& of) {
  std::string line = of.flops > 0 ? giga(of.flops) + " GFLOP/s" : "FLOP/s not measured";
  if (of.call > 0) line += "; a call takes " + units::duration(of.call) + " at least";
  return line;
}

}  // namespace detail

LAYERBENCH_INLINE table bandwidths(const peaks& of) {
  table t{{{"level"},
           {"up to", align::right},
           {"read GB/s", align::right},
           {"write GB/s", align::right},
           {"copy GB/s", align::right}},
          {}};
  for (const memory_level& level : of.levels) {
    t.rows.push_back({level.name, std::isinf(level.capacity) ? "" : units::si(level.capacity, "B"),
                      giga(level.read), giga(level.write), giga(level.copy)});
  }
  return t;
}

LAYERBENCH_INLINE std::string text(std::span<const peaks> all) {
  std::string out;
  for (const peaks& of : all) {
    out += fmt::format("{}{} {}, {} thread{}: {}\n", out.empty() ? "" : "\n", of.backend, of.dtype,
                       of.threads, of.threads == 1 ? "" : "s", detail::peaks_line(of));
    if (!of.levels.empty()) out += text(bandwidths(of));
  }
  return out;
}

namespace detail {

[[nodiscard]] inline std::string what_if_text(const prediction& p) {
  std::vector<std::string> entries;
  for (const auto& [change, seconds] : what_ifs(p)) {
    entries.push_back(
        fmt::format("{}: {} ms per step ({})", change, format::milliseconds(seconds, p.digits()),
                    format::change(p.step->seconds, p.digits(), seconds, p.digits())));
  }
  return entries.empty() ? "" : fmt::format("  what if: {}\n", fmt::join(entries, "; "));
}

/// The layers above 100 % of their peak.
[[nodiscard]] inline std::string above_peak_text(const prediction& p) {
  std::vector<std::string> layers;
  for (const layer_time& layer : p.layers) {
    if (share_of_roof(layer).value_or(0) <= 1) continue;
    layers.push_back(fmt::format("{} ({})", layer.call_name(), percent_of_peak(layer)));
  }
  if (layers.empty()) return "";
  return fmt::format(
      "  above 100 % of the peak: {}: fewer operations than are counted (Winograd), operands "
      "nearer than assumed, or peaks of a slower time\n",
      fmt::join(layers, ", "));
}

}  // namespace detail

LAYERBENCH_INLINE std::string limits_text(const prediction& p) {
  if (p.layers.empty() || p.model_case.streams() > 1) return "";
  if (!p.limits) {
    return fmt::format(
        "no bottlenecks without the peaks of {} {} on {} thread{}: {} "
        "--benchmark_out=p.json measures them, predict --peaks=p.json reads them\n",
        p.model_case.backend, p.model_case.dtype, p.threads, p.threads == 1 ? "" : "s",
        program_path("bench_peak"));
  }
  return fmt::format("  by bottleneck: {}\n  peaks: {}; {} GB/s from memory\n",
                     shares_text(shares_by_bound(p)), detail::peaks_line(*p.limits),
                     giga(p.limits->levels.back().read)) +
         detail::what_if_text(p) + detail::above_peak_text(p);
}

LAYERBENCH_INLINE table worth_optimising_table(const prediction& p, std::size_t most) {
  table t{{{"worth optimising"},
           {"op"},
           {"count", align::right},
           {"time per call", align::right},
           {"at its peak", align::right},
           {"bottleneck"},
           {"of peak", align::right},
           {"ms per step to gain", align::right}},
          {}};
  for (const layer_time& layer : worth_optimising(p, most)) {
    t.rows.push_back({layer.call_name(), layer.op, std::to_string(layer.count),
                      units::duration(layer.seconds), units::duration(layer.roofs->seconds()),
                      bound_of(layer), percent_of_peak(layer),
                      format::milliseconds(seconds_above_roof(layer))});
  }
  return t;
}

}  // namespace layerbench::analysis
