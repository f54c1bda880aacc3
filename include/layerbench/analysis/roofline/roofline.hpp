// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/model/peak.hpp>
#include <layerbench/result/manifest.hpp>

/// How fast a layer could be: the roofline model (Williams, Waterman and Patterson, 2009), with a
/// roof for each level of memory and one for calls that do next to nothing.
namespace layerbench::analysis {

/// A level of memory: bytes a second, counted as op::stream counts them.
struct memory_level {
  std::string name;  ///< l2, l3, memory
  double capacity;   ///< bytes; infinite for memory
  double read = 0;
  double write = 0;
  double copy = 0;

  /// Seconds to read and write so many bytes. A copy is measured, and so is each alone; a mix is
  /// taken as a copy and what is left of either.
  [[nodiscard]] double seconds(double reads, double writes) const {
    const double both = std::min(reads, writes);
    return 2 * both / copy + (reads - both) / read + (writes - both) / write;
  }
};

/// What a device attains with a library, in a data type, on so many threads.
struct peaks {
  std::string backend;
  std::string dtype;
  std::int64_t threads = 0;
  double flops = 0;                       ///< a second
  double call = 0;                        ///< seconds of a call that does next to nothing
  std::vector<memory_level> levels = {};  ///< the nearest first

  /// Whether all is known that a roof needs.
  [[nodiscard]] bool complete() const {
    return flops > 0 && call > 0 && !levels.empty() &&
           std::ranges::all_of(levels, [](const memory_level& level) {
             return level.read > 0 && level.write > 0 && level.copy > 0;
           });
  }

  /// The level in which bytes are found that were last used so many bytes ago, their own counted.
  [[nodiscard]] std::size_t level_of(double reuse) const {
    const auto found = std::ranges::find_if(
        levels, [&](const memory_level& level) { return reuse <= level.capacity; });
    return std::min(static_cast<std::size_t>(found - levels.begin()), levels.size() - 1);
  }
};

/// Least seconds of one call by each of what it needs. What bounds it is the largest of them.
struct roofs {
  double compute;     ///< its FLOPs, none on padding, at the peak
  double memory;      ///< its operands, each moved once from or to the level where it is found
  double call;        ///< what any call takes: all else is shorter in calls bound by latency
  std::string level;  ///< that has most of `memory`

  [[nodiscard]] double seconds() const { return std::max({compute, memory, call}); }
  /// compute, memory, memory:<cache> or latency.
  [[nodiscard]] std::string bound() const {
    if (seconds() == call) return "latency";
    if (memory <= compute) return "compute";
    return level == model::peak_memory ? level : "memory:" + level;
  }
};

/// The roofs of a call of so many FLOPs that moves these operands.
[[nodiscard]] inline roofs roofs_of(double flops, std::span<const result::operand_traffic> traffic,
                                    const peaks& of) {
  struct level_bytes {
    double read = 0;
    double written = 0;
  };
  std::vector<level_bytes> at(of.levels.size());
  for (const result::operand_traffic& operand : traffic) {
    const auto bytes = static_cast<double>(operand.bytes);
    level_bytes& level = at[of.level_of(static_cast<double>(operand.distance) + bytes)];
    (operand.written ? level.written : level.read) += bytes;
  }
  roofs result{flops / of.flops, 0, of.call, of.levels.front().name};
  double most = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double seconds = of.levels[i].seconds(at[i].read, at[i].written);
    result.memory += seconds;
    if (seconds <= most) continue;
    most = seconds;
    result.level = of.levels[i].name;
  }
  return result;
}

/// The operands of a call that runs again and again on the same ones: all others lie between two
/// uses of each.
[[nodiscard]] inline std::vector<result::operand_traffic> hot(
    std::vector<result::operand_traffic> traffic) {
  std::int64_t all = 0;
  for (const result::operand_traffic& operand : traffic) all += operand.bytes;
  for (result::operand_traffic& operand : traffic) operand.distance = all - operand.bytes;
  return traffic;
}

}  // namespace layerbench::analysis
