// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include <layerbench/base/units.hpp>
#include <layerbench/predict/roofline.hpp>
#include <layerbench/report/number.hpp>
#include <layerbench/report/table.hpp>

/// What a device attains, for people.
namespace layerbench::report {

namespace detail {

/// A bandwidth in GB/s, a rate in GFLOP/s; nothing for none.
[[nodiscard]] inline std::string giga(double a_second) {
  return a_second > 0 ? four_digits(a_second * 1e-9) : "";
}

/// "118.2 GFLOP/s; a call takes 610 ns at least".
[[nodiscard]] inline std::string attained(const predict::peaks& of) {
  std::string said = of.flops > 0 ? giga(of.flops) + " GFLOP/s" : "FLOP/s not measured";
  if (of.call > 0) said += "; a call takes " + units::duration(of.call) + " at least";
  return said;
}

}  // namespace detail

/// Bandwidths by level of memory.
[[nodiscard]] inline table levels(const predict::peaks& of) {
  table t{{{"level"},
           {"up to", align::right},
           {"read GB/s", align::right},
           {"write GB/s", align::right},
           {"copy GB/s", align::right}},
          {}};
  for (const predict::memory_level& each : of.levels) {
    t.rows.push_back({each.name, std::isinf(each.holds) ? "" : units::si(each.holds, "B"),
                      detail::giga(each.read), detail::giga(each.write), detail::giga(each.copy)});
  }
  return t;
}

[[nodiscard]] inline std::string text(std::span<const predict::peaks> all) {
  std::string out;
  for (const predict::peaks& each : all) {
    out +=
        fmt::format("{}{} {}, {} thread{}: {}\n", out.empty() ? "" : "\n", each.backend, each.dtype,
                    each.threads, each.threads == 1 ? "" : "s", detail::attained(each));
    if (!each.levels.empty()) out += text(levels(each));
  }
  return out;
}

}  // namespace layerbench::report
