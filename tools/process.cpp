// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::tool {
namespace {

/// The name in NAME=VALUE; empty if `word` does not have this form.
std::string_view variable_name(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals == word.npos ? 0 : equals);
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return std::ranges::all_of(name, fits) ? name : "";
}

/// The tool's environment with the variables of `what`; the last one of a name counts.
std::vector<std::string> environment_of(const invocation& what) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  for (const std::string& variable : what.variables) {
    const std::string_view name = variable_name(variable);
    std::erase_if(all, [&](std::string_view word) {
      return word.starts_with(name) && word.substr(name.size()).starts_with('=');
    });
    all.push_back(variable);
  }
  return all;
}

/// The directories in which programs without a directory are searched.
std::string search_path(const invocation& of) {
  const char* const inherited = std::getenv("PATH");
  std::string found = inherited != nullptr ? inherited : "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& variable : of.variables) {
    if (variable.starts_with("PATH=")) found = variable.substr(variable.find('=') + 1);
  }
  return found;
}

bool can_run(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

/// Pointers to `texts` with a final null pointer, for posix_spawn.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::vector<std::string> invocation::line() const {
  std::vector<std::string> all = variables;
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

invocation invocation_of(const std::vector<std::string>& line) {
  const auto program = std::ranges::find_if(
      line, [](const std::string& word) { return variable_name(word).empty(); });
  return {{line.begin(), program}, {program, line.end()}};
}

std::string find_program(const invocation& of) {
  std::string name = of.words.empty() ? "" : of.words.front();
  if (name.find('/') != std::string::npos && can_run(name)) return name;
  if (!name.empty() && name.find('/') == std::string::npos) {
    const std::string directories = search_path(of);
    for (const std::string_view directory : result::detail::split(directories, ':')) {
      std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
      if (can_run(path)) return path;
    }
  }
  throw usage_error(fmt::format("there is no program '{}' that could be run", name));
}

std::string status_text(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

exit_code exit_code_of(int status) {
  using enum exit_code;
  for (const exit_code code :
       {usage, bad_input, incomplete, nothing_matched, unavailable, interrupted}) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(code)) return code;
  }
  return failure;
}

std::vector<std::string> last_lines(const std::filesystem::path& file, std::size_t most) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (lines.size() == most) lines.erase(lines.begin());
    lines.push_back(line);
  }
  return lines;
}

process_runner::process_runner() {
  ::sigemptyset(&waited_for_);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&waited_for_, signal);
  static_cast<void>(std::signal(SIGCHLD, SIG_DFL));  // if ignored, it would not be delivered
  ::sigprocmask(SIG_BLOCK, &waited_for_, &before_);
}

process_runner::~process_runner() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

::pid_t process_runner::start(const invocation& what, const std::vector<std::string>& more,
                              const std::string& errors) const {
  const std::string program = find_program(what);
  std::vector<std::string> words = what.words;
  words.insert(words.end(), more.begin(), more.end());
  std::vector<std::string> variables = environment_of(what);
  ::posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (errors.empty()) {
    ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  } else {
    const int mode = O_WRONLY | O_CREAT | O_TRUNC;
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), mode, 0600);
  }
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // A separate process group, so that signals of the terminal reach it once, through the tool.
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigmask(&attributes, &before_);
  ::posix_spawnattr_setsigdefault(&attributes, &waited_for_);
  ::pid_t id = 0;
  const int failed = ::posix_spawn(&id, program.c_str(), &files, &attributes,
                                   pointers(words).data(), pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed == 0) return id;
  throw error(
      fmt::format("{} cannot be run: {}", program, std::generic_category().message(failed)));
}

int process_runner::run(const invocation& what, const std::vector<std::string>& more,
                        const std::string& errors) {
  const ::pid_t id = start(what, more, errors);
  for (;;) {
    const int signal = ::sigwaitinfo(&waited_for_, nullptr);
    if (signal == SIGINT || signal == SIGTERM) {
      if (!interrupted_) fmt::print(stderr, "\nlayerbench: stopping what runs (again: at once)\n");
      interrupted_ = true;
      ::kill(-id, signal);
    }
    int status = 0;
    if (::waitpid(id, &status, WNOHANG) == id) return status;
  }
}

}  // namespace layerbench::tool
