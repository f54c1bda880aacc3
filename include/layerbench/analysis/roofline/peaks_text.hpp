// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/roofline/roofline.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>

/// What a device attains, for people.
namespace layerbench::report {

namespace detail {

/// A bandwidth in GB/s, a rate in GFLOP/s; nothing for none.
[[nodiscard]] inline std::string giga(double a_second) {
  return a_second > 0 ? four_digits(a_second * 1e-9) : "";
}

/// "118.2 GFLOP/s; a call takes 610 ns at least".
[[nodiscard]] inline std::string attained(const analysis::peaks& of) {
  std::string words = of.flops > 0 ? giga(of.flops) + " GFLOP/s" : "FLOP/s not measured";
  if (of.call > 0) words += "; a call takes " + units::duration(of.call) + " at least";
  return words;
}

}  // namespace detail

/// Bandwidths by level of memory.
[[nodiscard]] inline table levels(const analysis::peaks& of) {
  table t{{{"level"},
           {"up to", align::right},
           {"read GB/s", align::right},
           {"write GB/s", align::right},
           {"copy GB/s", align::right}},
          {}};
  for (const analysis::memory_level& level : of.levels) {
    t.rows.push_back({level.name, std::isinf(level.capacity) ? "" : units::si(level.capacity, "B"),
                      detail::giga(level.read), detail::giga(level.write),
                      detail::giga(level.copy)});
  }
  return t;
}

[[nodiscard]] inline std::string text(std::span<const analysis::peaks> all) {
  std::string out;
  for (const analysis::peaks& peaks : all) {
    out += fmt::format("{}{} {}, {} thread{}: {}\n", out.empty() ? "" : "\n", peaks.backend,
                       peaks.dtype, peaks.threads, peaks.threads == 1 ? "" : "s",
                       detail::attained(peaks));
    if (!peaks.levels.empty()) out += text(levels(peaks));
  }
  return out;
}

}  // namespace layerbench::report
