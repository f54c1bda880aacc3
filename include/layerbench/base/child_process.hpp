// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/types.h>

#include <layerbench/base/error.hpp>

/// Programs that this one starts.
namespace layerbench {

/// A status of wait(2) as text: "exit code 3", "signal 11 (Segmentation fault)".
[[nodiscard]] std::string status_text(int status);

/// The exit code of a failed program if it is one of base/error.hpp, else `failure`.
[[nodiscard]] exit_code exit_code_of(int status);

/// This program's environment with `variables` (NAME=VALUE), of which the last one of a name
/// counts.
[[nodiscard]] std::vector<std::string> environment_with(const std::vector<std::string>& variables);

/// What a shell's command prints to stdout, at most 4 KiB. Its stderr is that of this program.
/// Throws error where it fails, and where it takes longer than `timeout` seconds: it is then killed
/// with all that it started.
[[nodiscard]] std::string output_of(const std::string& command, double timeout);

/// Where the stdout and stderr of a child go. Its stdin is empty.
class child_output {
 public:
  child_output();
  child_output(const child_output&) = delete;
  child_output& operator=(const child_output&) = delete;
  ~child_output() { ::posix_spawn_file_actions_destroy(&actions_); }

  /// Stream `from` (STDOUT_FILENO, STDERR_FILENO) goes to the open file `to`.
  void send(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, to, from); }
  /// Stream `from` goes to a file, which is made or emptied.
  void send(int from, const std::string& file);
  /// Stream `from` is discarded.
  void discard(int from);

 private:
  friend class child_starter;
  ::posix_spawn_file_actions_t actions_{};
};

/// Which signals of a terminal reach a child: those that its parent passes on, or all of its
/// parent's.
enum class child_group { separate, of_parent };

/// Starts programs, and waits for signals. During its lifetime SIGINT, SIGTERM, SIGHUP, SIGQUIT and
/// SIGCHLD are blocked in this thread, and in threads that it starts; next_signal() returns them.
class child_starter {
 public:
  child_starter();
  child_starter(const child_starter&) = delete;
  child_starter& operator=(const child_starter&) = delete;
  ~child_starter() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// Starts the program at a path with `words`, its name first, and `variables` (NAME=VALUE) as its
  /// environment. It usually has a separate process group, so that signals of the terminal reach it
  /// once, through its parent. Throws error.
  [[nodiscard]] ::pid_t start(const std::string& program, std::vector<std::string> words,
                              std::vector<std::string> variables, const child_output& output,
                              child_group group = child_group::separate) const;

  /// Waits for the next of these signals.
  [[nodiscard]] int next_signal() const {
    // sigwaitinfo would also return, with EINTR, when a stopped process continues.
    int signal = 0;
    ::sigwait(&waited_for_, &signal);
    return signal;
  }

 private:
  /// Pointers to `texts` with a final null pointer.
  [[nodiscard]] static std::vector<char*> pointers(std::vector<std::string>& texts);

  ::sigset_t waited_for_{};
  ::sigset_t before_{};
};

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/child_process-inl.hpp>
#endif
