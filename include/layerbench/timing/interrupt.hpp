// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string_view>

#include <unistd.h>

namespace layerbench::run {

/// Catches SIGINT and SIGTERM while it lives: the first one sets interrupted(), a second one kills
/// the program.
class interrupt_guard {
 public:
  interrupt_guard() {
    flag() = 0;
    std::signal(SIGINT, &on_signal);
    std::signal(SIGTERM, &on_signal);
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  [[nodiscard]] static bool interrupted() { return flag() != 0; }

 private:
  static volatile std::sig_atomic_t& flag() {
    static volatile std::sig_atomic_t value = 0;
    return value;
  }
  static void on_signal(int signal) {
    flag() = 1;
    std::signal(signal, SIG_DFL);
    constexpr std::string_view text = "\nlayerbench: stopping after this call (again: at once)\n";
    [[maybe_unused]] const ::ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }
};

}  // namespace layerbench::run
