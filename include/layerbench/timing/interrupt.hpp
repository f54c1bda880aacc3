// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string_view>

#include <unistd.h>

namespace layerbench::run {

/// Turns SIGINT and SIGTERM into a question, for as long as it lives. A second signal kills.
class interrupt_guard {
 public:
  interrupt_guard() {
    seen() = 0;
    std::signal(SIGINT, &note);
    std::signal(SIGTERM, &note);
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  ~interrupt_guard() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  [[nodiscard]] static bool interrupted() { return seen() != 0; }

 private:
  static volatile std::sig_atomic_t& seen() {
    static volatile std::sig_atomic_t value = 0;
    return value;
  }
  static void note(int signal) {
    seen() = 1;
    std::signal(signal, SIG_DFL);
    constexpr std::string_view text = "\nlayerbench: stopping after this call (again: at once)\n";
    [[maybe_unused]] const ::ssize_t told = ::write(STDERR_FILENO, text.data(), text.size());
  }
};

}  // namespace layerbench::run
