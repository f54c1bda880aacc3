// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/units.hpp>
#include <layerbench/run/clock.hpp>

namespace layerbench::run {

/// One rewritten line on stderr with the time that is left; silent where stderr is no terminal or
/// where a CI system is watching.
class progress {
 public:
  explicit progress(std::size_t steps)
      : steps_(steps),
        shown_(::isatty(STDERR_FILENO) == 1 && std::getenv("CI") == nullptr),
        start_(now(clock::wall)) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// Announces the next step. `left` estimates the seconds that remain; negative is unknown.
  void step(std::string_view what, double left) {
    ++done_;
    const double time = now(clock::wall);
    if (!shown_ || (time - last_ < 0.1 && done_ != steps_)) return;
    last_ = time;
    const std::string eta =
        left < 0 ? "" : fmt::format("  {} left", units::duration(std::max(left, 1.0)));
    fmt::print(stderr, "\r\x1b[K[{}/{}] {:.80}{}", done_, steps_, what, eta);
    std::fflush(stderr);
  }

  /// Removes the line, so that something else can be written.
  void clear() {
    if (shown_ && last_ > 0) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }

  [[nodiscard]] double elapsed() const { return now(clock::wall) - start_; }

 private:
  std::size_t steps_;
  std::size_t done_ = 0;
  bool shown_;
  double start_;
  double last_ = 0;
};

}  // namespace layerbench::run
