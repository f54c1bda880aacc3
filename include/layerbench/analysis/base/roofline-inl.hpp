// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/analysis/base/roofline.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/model/peak.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE double memory_level::seconds(double reads, double writes) const {
  const double copied = std::min(reads, writes);
  return 2 * copied / copy + (reads - copied) / read + (writes - copied) / write;
}

LAYERBENCH_INLINE bool peaks::complete() const {
  return flops > 0 && call > 0 && !levels.empty() &&
         std::ranges::all_of(levels, [](const memory_level& level) {
           return level.read > 0 && level.write > 0 && level.copy > 0;
         });
}

LAYERBENCH_INLINE std::size_t peaks::level_of(double reuse) const {
  const auto found = std::ranges::find_if(
      levels, [&](const memory_level& level) { return reuse <= level.capacity; });
  return std::min(static_cast<std::size_t>(found - levels.begin()), levels.size() - 1);
}

LAYERBENCH_INLINE std::string roofs::bound() const {
  if (seconds() == call) return "latency";
  if (memory <= compute) return "compute";
  return level == model::peak_memory ? level : "memory:" + level;
}

LAYERBENCH_INLINE roofs roofs_of(double flops, std::span<const result::operand_traffic> traffic,
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

LAYERBENCH_INLINE std::vector<result::operand_traffic> hot(
    std::vector<result::operand_traffic> traffic) {
  std::int64_t total = 0;
  for (const result::operand_traffic& operand : traffic) total += operand.bytes;
  for (result::operand_traffic& operand : traffic) operand.distance = total - operand.bytes;
  return traffic;
}

}  // namespace layerbench::analysis
