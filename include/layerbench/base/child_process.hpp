// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>

/// Programs that this one starts.
namespace layerbench {

/// A status of wait(2) as text: "exit code 3", "signal 11 (Segmentation fault)".
[[nodiscard]] inline std::string status_text(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

/// The exit code of a failed program if it is one of base/error.hpp, else `failure`.
[[nodiscard]] inline exit_code exit_code_of(int status) {
  using enum exit_code;
  for (const exit_code code :
       {usage, bad_input, incomplete, nothing_matched, unavailable, interrupted}) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(code)) return code;
  }
  return failure;
}

/// This program's environment with `variables` (NAME=VALUE), of which the last one of a name
/// counts.
[[nodiscard]] inline std::vector<std::string> environment_with(
    const std::vector<std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(all, [&](const std::string& word) { return word.starts_with(name); });
    all.push_back(variable);
  }
  return all;
}

/// Where the stdout and stderr of a child go. Its stdin is empty.
class child_output {
 public:
  child_output() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  child_output(const child_output&) = delete;
  child_output& operator=(const child_output&) = delete;
  ~child_output() { ::posix_spawn_file_actions_destroy(&actions_); }

  /// Stream `from` (STDOUT_FILENO, STDERR_FILENO) goes to the open file `to`.
  void send(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, to, from); }
  /// Stream `from` goes to a file, which is made or emptied.
  void send(int from, const std::string& file) {
    const int mode = O_WRONLY | O_CREAT | O_TRUNC;
    ::posix_spawn_file_actions_addopen(&actions_, from, file.c_str(), mode, 0600);
  }
  /// Stream `from` is discarded.
  void discard(int from) {
    ::posix_spawn_file_actions_addopen(&actions_, from, "/dev/null", O_WRONLY, 0);
  }

 private:
  friend class child_starter;
  ::posix_spawn_file_actions_t actions_{};
};

/// Starts programs, and waits for signals. During its lifetime SIGINT, SIGTERM, SIGHUP, SIGQUIT and
/// SIGCHLD are blocked in this thread, and in threads that it starts; next_signal() returns them.
class child_starter {
 public:
  child_starter() {
    ::sigemptyset(&waited_for_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD})
      ::sigaddset(&waited_for_, signal);
    static_cast<void>(std::signal(SIGCHLD, SIG_DFL));  // if ignored, it would not be delivered
    ::pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
  }
  child_starter(const child_starter&) = delete;
  child_starter& operator=(const child_starter&) = delete;
  ~child_starter() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// Starts the program at a path with `words`, its name first, and `variables` (NAME=VALUE) as its
  /// environment. It has a separate process group, so that signals of the terminal reach it once,
  /// through its parent. Throws error.
  [[nodiscard]] ::pid_t start(const std::string& program, std::vector<std::string> words,
                              std::vector<std::string> variables,
                              const child_output& output) const {
    ::posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setsigmask(&attributes, &before_);
    ::posix_spawnattr_setsigdefault(&attributes, &waited_for_);
    ::pid_t id = 0;
    const int failed = ::posix_spawn(&id, program.c_str(), &output.actions_, &attributes,
                                     pointers(words).data(), pointers(variables).data());
    ::posix_spawnattr_destroy(&attributes);
    if (failed == 0) return id;
    throw error(
        fmt::format("{} cannot be run: {}", program, std::generic_category().message(failed)));
  }

  /// Waits for the next of these signals.
  [[nodiscard]] int next_signal() const { return ::sigwaitinfo(&waited_for_, nullptr); }

 private:
  /// Pointers to `texts` with a final null pointer.
  [[nodiscard]] static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  ::sigset_t waited_for_{};
  ::sigset_t before_{};
};

}  // namespace layerbench
