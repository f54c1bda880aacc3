// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/progress.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/base/units.hpp>

namespace layerbench {

LAYERBENCH_INLINE std::string progress_line(std::size_t step, std::size_t steps,
                                            std::string_view name, double left, std::size_t width) {
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

LAYERBENCH_INLINE progress::progress(std::size_t steps, std::FILE* out,
                                     std::function<double()> seconds)
    : steps_(steps),
      out_(out),
      now_(std::move(seconds)),
      rewrites_(::isatty(::fileno(out)) == 1 && std::getenv("CI") == nullptr) {
  if (!rewrites_) last_ = now_();
}

LAYERBENCH_INLINE void progress::step(std::string_view what) {
  if (done_ == 0) first_ = now_();  // the time before the first step does not count
  ++done_;
  show(what);
}

LAYERBENCH_INLINE void progress::say(std::string_view what) {
  if (is_quiet()) return;
  clear();
  print_plain(out_, fmt::format("layerbench: {}\n", what));
}

LAYERBENCH_INLINE void progress::clear() {
  if (rewrites_ && last_ > 0) std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
}

LAYERBENCH_INLINE double progress::left(double time) const {
  const std::size_t finished = std::max<std::size_t>(done_, 1) - 1;
  if (finished <= std::max<std::size_t>(steps_ / 20, 3)) return -1;
  const auto steps_left = static_cast<double>(steps_ - std::min(finished, steps_));
  const double needed = (time - first_) / static_cast<double>(finished) * steps_left;
  return std::min(needed, std::max(0.0, end_ - time));
}

LAYERBENCH_INLINE void progress::show(std::string_view what) {
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

LAYERBENCH_INLINE double progress::seconds_now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

LAYERBENCH_INLINE std::size_t progress::columns() const {
  const std::size_t known = window_columns(::fileno(out_));
  return known > 0 ? known : 80;
}

}  // namespace layerbench
