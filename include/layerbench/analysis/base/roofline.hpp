// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
  [[nodiscard]] double seconds(double reads, double writes) const;
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
  [[nodiscard]] bool complete() const;

  /// The level that holds an operand at reuse distance `reuse`, in bytes, its own bytes included.
  [[nodiscard]] std::size_t level_of(double reuse) const;
};

/// The lower bounds of one call in seconds. The largest is its bottleneck.
struct roofs {
  double compute;     ///< its FLOPs, without those on padding, at the peak
  double memory;      ///< its operands, each moved once from or to the level that holds it
  double call;        ///< overhead of any call
  std::string level;  ///< the level that contributes most to `memory`

  [[nodiscard]] double seconds() const { return std::max({compute, memory, call}); }
  /// The bottleneck: compute, memory, memory:<cache> or latency.
  [[nodiscard]] std::string bound() const;
};

/// The roofs of a call with these FLOPs and operands.
[[nodiscard]] roofs roofs_of(double flops, std::span<const result::operand_traffic> traffic,
                             const peaks& of);

/// The traffic of a call that is repeated on the same operands: between two uses of an operand all
/// other operands are used.
[[nodiscard]] std::vector<result::operand_traffic> hot(
    std::vector<result::operand_traffic> traffic);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/roofline-inl.hpp>
#endif
