// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/child_process.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench {

LAYERBENCH_INLINE std::string status_text(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

LAYERBENCH_INLINE exit_code exit_code_of(int status) {
  using enum exit_code;
  for (const exit_code code :
       {usage, bad_input, incomplete, nothing_matched, unavailable, interrupted}) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(code)) return code;
  }
  return failure;
}

LAYERBENCH_INLINE std::vector<std::string> environment_with(
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

LAYERBENCH_INLINE child_output::child_output() {
  ::posix_spawn_file_actions_init(&actions_);
  ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
}

LAYERBENCH_INLINE void child_output::send(int from, const std::string& file) {
  const int mode = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&actions_, from, file.c_str(), mode, 0600);
}

LAYERBENCH_INLINE void child_output::discard(int from) {
  ::posix_spawn_file_actions_addopen(&actions_, from, "/dev/null", O_WRONLY, 0);
}

LAYERBENCH_INLINE child_starter::child_starter() {
  ::sigemptyset(&waited_for_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD})
    ::sigaddset(&waited_for_, signal);
  static_cast<void>(std::signal(SIGCHLD, SIG_DFL));  // if ignored, it would not be delivered
  ::pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
}

LAYERBENCH_INLINE ::pid_t child_starter::start(const std::string& program,
                                               std::vector<std::string> words,
                                               std::vector<std::string> variables,
                                               const child_output& output,
                                               child_group group) const {
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  const auto flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                     (group == child_group::separate ? POSIX_SPAWN_SETPGROUP : 0);
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
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

LAYERBENCH_INLINE std::vector<char*> child_starter::pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

namespace detail {

/// What comes out of a pipe until its last writer closes it; nothing once `end` has passed.
[[nodiscard]] inline std::optional<std::string> text_of_pipe(
    int pipe, std::chrono::steady_clock::time_point end) {
  constexpr std::size_t most = 4096;
  std::string text;
  std::array<char, most> part{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    ::pollfd waited_for{pipe, POLLIN, 0};
    const int found =
        left.count() <= 0 ? 0 : ::poll(&waited_for, 1, static_cast<int>(left.count()));
    if (found == 0) return std::nullopt;
    if (found < 0) continue;  // a signal
    const ::ssize_t size = ::read(pipe, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(part.data(), std::min(static_cast<std::size_t>(size), most - text.size()));
  }
}

}  // namespace detail

LAYERBENCH_INLINE std::string output_of(const std::string& command, double timeout) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * timeout));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw error("no pipe: " + std::generic_category().message(errno));
  }
  const child_starter starter;
  std::optional<std::string> text;
  ::pid_t id = 0;
  int status = 0;
  {
    child_output output;
    output.send(STDOUT_FILENO, ends[1]);
    try {
      id = starter.start("/bin/sh", {"sh", "-c", command}, environment_with({}), output);
    } catch (const error&) {
      for (const int one : ends) ::close(one);
      throw;
    }
  }
  ::close(ends[1]);
  text = detail::text_of_pipe(ends[0], end);
  ::close(ends[0]);
  while (text && ::waitpid(id, &status, WNOHANG) == 0) {  // it may close its stdout and go on
    if (std::chrono::steady_clock::now() > end) text.reset();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (!text) {
    ::kill(-id, SIGKILL);
    ::waitpid(id, &status, 0);
    throw error(fmt::format("{}: took longer than {:g} s", command, timeout));
  }
  if (status != 0) throw error(fmt::format("{}: ended with {}", command, status_text(status)));
  return *text;
}

}  // namespace layerbench
