// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/base/units.hpp>

namespace layerbench {

/// How far a run is, in at most `width` characters: "[3/55] name  12 s left". `left` is in seconds;
/// negative: unknown.
[[nodiscard]] inline std::string progress_line(std::size_t step, std::size_t steps,
                                               std::string_view name, double left,
                                               std::size_t width) {
  const std::string begin = fmt::format("[{}/{}] ", step, steps);
  std::string end;
  if (left >= 60) {
    end = "  " + units::duration(left) + " left";
  } else if (left >= 0) {
    end = left < 1 ? "  <1 s left" : fmt::format("  {:.0f} s left", std::floor(left));
  }
  const std::size_t taken = begin.size() + end.size();
  const std::string line =
      begin + std::string(name.substr(0, width > taken ? width - taken : 0)) + end;
  return line.substr(0, width);
}

/// How far a run is, on stderr: one rewritten line on a terminal; elsewhere, and where a CI system
/// is watching, a line every ten seconds.
class progress {
 public:
  explicit progress(std::size_t steps, std::FILE* out = stderr,
                    std::function<double()> seconds = seconds_now)
      : steps_(steps),
        out_(out),
        now_(std::move(seconds)),
        rewrites_(::isatty(::fileno(out)) == 1 && std::getenv("CI") == nullptr) {
    if (!rewrites_) last_ = now_();
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// Announces the next step. The time left follows from the finished steps.
  void step(std::string_view what) {
    if (done_ == 0) first_ = now_();  // the time before the first step does not count
    ++done_;
    show(what);
  }

  /// Announces something that does not count as a step.
  void note(std::string_view what) { show(what); }

  /// Says something that stays.
  void say(std::string_view what) {
    if (is_quiet()) return;
    clear();
    print_plain(out_, fmt::format("layerbench: {}\n", what));
  }

  /// Says that the run ends in so many seconds, whatever is left then.
  void end_in(double seconds) { end_ = now_() + seconds; }

  /// Removes the line so that other output can follow.
  void clear() {
    if (rewrites_ && last_ > 0) std::fputs("\r\x1b[K", out_);
    std::fflush(out_);
  }

 private:
  /// Seconds, negative if unknown.
  [[nodiscard]] double left(double time) const {
    const std::size_t finished = std::max<std::size_t>(done_, 1) - 1;
    if (finished <= std::max<std::size_t>(steps_ / 20, 3)) return -1;
    const auto steps_left = static_cast<double>(steps_ - std::min(finished, steps_));
    const double needed = (time - first_) / static_cast<double>(finished) * steps_left;
    return std::min(needed, std::max(0.0, end_ - time));
  }

  void show(std::string_view what) {
    if (is_quiet()) return;
    const double time = now_();
    const double pause = time - last_;
    const std::size_t steps = std::max(done_, steps_);
    if (rewrites_ && (pause >= 0.1 || done_ == steps_)) {
      // One less: a full line would wrap in some terminals.
      std::fputs("\r\x1b[K", out_);
      print_plain(out_, progress_line(done_, steps, what, left(time), columns() - 1));
    } else if (!rewrites_ && pause >= seconds_between_lines) {
      print_plain(out_, fmt::format("layerbench: {}\n",
                                    progress_line(done_, steps, what, left(time), line_width)));
    } else {
      return;
    }
    last_ = time;
    std::fflush(out_);
  }

  [[nodiscard]] static double seconds_now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
  }

  [[nodiscard]] std::size_t columns() const {
    const std::size_t known = window_columns(::fileno(out_));
    return known > 0 ? known : 80;
  }

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
