// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

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

/// One rewritten line on stderr with the time that is left; silent where stderr is no terminal or
/// where a CI system is watching.
class progress {
 public:
  explicit progress(std::size_t steps)
      : steps_(steps), shown_(::isatty(STDERR_FILENO) == 1 && std::getenv("CI") == nullptr) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// Announces the next step. The time left follows from the finished steps.
  void step(std::string_view what) {
    if (done_ == 0) first_ = now();  // the time before the first step does not count
    const std::size_t taken = done_++;
    const bool known = taken > steps_ / 20 && taken > 3;
    const auto steps_left = static_cast<double>(steps_ - std::min(taken, steps_));
    show(what, known ? (now() - first_) / static_cast<double>(taken) * steps_left : -1);
  }

  /// Announces something that does not count as a step.
  void note(std::string_view what) { show(what, -1); }

  /// Says something that stays, whether or not stderr is a terminal.
  void say(std::string_view what) {
    clear();
    fmt::print(stderr, "layerbench: {}\n", what);
  }

  /// Removes the line so that other output can follow.
  void clear() {
    if (shown_ && last_ > 0) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }

 private:
  void show(std::string_view what, double left) {
    const double time = now();
    if (!shown_ || (time - last_ < 0.1 && done_ != steps_)) return;
    last_ = time;
    // One less: a full line would wrap in some terminals.
    fmt::print(stderr, "\r\x1b[K{}",
               progress_line(done_, std::max(done_, steps_), what, left, columns() - 1));
    std::fflush(stderr);
  }

  [[nodiscard]] static double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
  }

  [[nodiscard]] static std::size_t columns() {
    winsize window{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    return known ? window.ws_col : 80;
  }

  std::size_t steps_;
  std::size_t done_ = 0;
  bool shown_;
  double first_ = 0;
  double last_ = 0;
};

}  // namespace layerbench
