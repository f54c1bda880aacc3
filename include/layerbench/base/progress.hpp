// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace layerbench {

/// How far a run is, in at most `width` characters: "[3/55] name  12 s left". `left` is in seconds;
/// negative: unknown.
[[nodiscard]] std::string progress_line(std::size_t step, std::size_t steps, std::string_view name,
                                        double left, std::size_t width);

/// How far a run is, on stderr: one rewritten line on a terminal; elsewhere, and where a CI system
/// is watching, a line every ten seconds.
class progress {
 public:
  explicit progress(std::size_t steps, std::FILE* out = stderr,
                    std::function<double()> seconds = seconds_now);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// Announces the next step. The time left follows from the finished steps.
  void step(std::string_view what);

  /// Announces something that does not count as a step.
  void note(std::string_view what) { show(what); }

  /// Says something that stays.
  void say(std::string_view what);

  /// Says in how many seconds the run ends, whatever is left then.
  void end_in(double seconds) { end_ = now_() + seconds; }

  /// Removes the line so that other output can follow.
  void clear();

 private:
  /// Seconds, negative if unknown.
  [[nodiscard]] double left(double time) const;

  void show(std::string_view what);

  [[nodiscard]] static double seconds_now();

  [[nodiscard]] std::size_t columns() const;

  static constexpr double seconds_between_lines = 10;
  static constexpr std::size_t line_width = 67;  // with the prefix 79

  std::size_t steps_;
  std::FILE* out_;
  std::function<double()> now_;
  bool rewrites_;
  std::size_t done_ = 0;
  double first_ = 0;
  double end_ = std::numeric_limits<double>::infinity();  ///< see end_in()
  double last_ = 0;                                       ///< when the latest line was written
};

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/progress-inl.hpp>
#endif
