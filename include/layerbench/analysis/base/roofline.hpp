// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <layerbench/model/peak.hpp>
#include <layerbench/result/manifest.hpp>

/// Lower bounds of a layer's time by the roofline model (Williams, Waterman and Patterson, 2009),
/// with a roof for each level of memory and one for the overhead of a call.
namespace layerbench::analysis {

/// A level of memory and its bandwidths in bytes per second, counted as op::stream counts them.
struct memory_level {
  std::string name;  ///< l2, l3, memory
  double capacity;   ///< bytes; infinite for memory
  double read = 0;
  double write = 0;
  double copy = 0;

  /// Seconds to read and write that many bytes. Reading, writing and copying are measured; a mix is
  /// treated as a copy plus the remaining reads or writes.
  [[nodiscard]] double seconds(double reads, double writes) const {
    const double copied = std::min(reads, writes);
    return 2 * copied / copy + (reads - copied) / read + (writes - copied) / write;
  }
};

/// The peaks of a device with a library, a data type and a number of threads.
struct peaks {
  std::string backend;
  std::string dtype;
  std::int64_t threads = 0;
  double flops = 0;                       ///< per second
  double call = 0;                        ///< seconds of a call with almost no work
  std::vector<memory_level> levels = {};  ///< the nearest first

  /// Whether everything that roofs need is known.
  [[nodiscard]] bool complete() const {
    return flops > 0 && call > 0 && !levels.empty() &&
           std::ranges::all_of(levels, [](const memory_level& level) {
             return level.read > 0 && level.write > 0 && level.copy > 0;
           });
  }

  /// The level that holds an operand at reuse distance `reuse`, in bytes, its own bytes included.
  [[nodiscard]] std::size_t level_of(double reuse) const {
    const auto found = std::ranges::find_if(
        levels, [&](const memory_level& level) { return reuse <= level.capacity; });
    return std::min(static_cast<std::size_t>(found - levels.begin()), levels.size() - 1);
  }
};

/// The lower bounds of one call in seconds. The largest is its bottleneck.
struct roofs {
  double compute;     ///< its FLOPs, without those on padding, at the peak
  double memory;      ///< its operands, each moved once from or to the level that holds it
  double call;        ///< overhead of any call
  std::string level;  ///< the level that contributes most to `memory`

  [[nodiscard]] double seconds() const { return std::max({compute, memory, call}); }
  /// The bottleneck: compute, memory, memory:<cache> or latency.
  [[nodiscard]] std::string bound() const {
    if (seconds() == call) return "latency";
    if (memory <= compute) return "compute";
    return level == model::peak_memory ? level : "memory:" + level;
  }
};

/// The roofs of a call with these FLOPs and operands.
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

/// The traffic of a call that is repeated on the same operands: between two uses of an operand all
/// other operands are used.
[[nodiscard]] inline std::vector<result::operand_traffic> hot(
    std::vector<result::operand_traffic> traffic) {
  std::int64_t total = 0;
  for (const result::operand_traffic& operand : traffic) total += operand.bytes;
  for (result::operand_traffic& operand : traffic) operand.distance = total - operand.bytes;
  return traffic;
}

}  // namespace layerbench::analysis
