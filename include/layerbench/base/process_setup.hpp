// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>

/// What a program needs before it does anything.
namespace layerbench {

/// Opens stdin, stdout and stderr where the program was started without them: files that it opens
/// would else get their numbers, and its messages. A write beyond the limit of file sizes fails
/// from now on, and no longer ends the program.
inline void prepare_process() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. What is written to stdout is lost, which must fail.
    static_cast<void>(::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
}

/// Throws error where the stack is so small that the program would end without a message.
inline void require_stack() {
  constexpr ::rlim_t least = 256 << 10U;  // parsing options and planning take up to 96 KiB
  ::rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= least) return;
  throw error(fmt::format("the stack may have {} KiB only, {} are needed; raise it with ulimit -s",
                          stack.rlim_cur >> 10U, least >> 10U));
}

}  // namespace layerbench
