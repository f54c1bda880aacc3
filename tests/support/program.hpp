// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <layerbench/base/json.hpp>

#include "temporary_directory.hpp"

/// Runs layerbench's programs, as their users do.
namespace layerbench::testing {

struct outcome {
  int exit_code;  ///< 128 + the signal's number when a signal ended it
  std::string out;
  std::string err;
};

/// Variables that differ from the test's own environment.
using environment = std::map<std::string, std::string>;

/// Whether a launcher gives processes that variable. Tests may run in a step of srun, or a rank.
[[nodiscard]] inline bool is_of_launcher(std::string_view name) {
  return name.starts_with("SLURM_") || name.starts_with("PMI") || name.starts_with("OMPI_");
}

/// The test's environment without its launcher, with `changes`, as `name=value` texts.
[[nodiscard]] inline std::vector<std::string> merged_environment(const environment& changes) {
  std::vector<std::string> all;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string text = *item;
    const std::string name = text.substr(0, text.find('='));
    if (!changes.contains(name) && !is_of_launcher(name)) all.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    std::string text = name;
    text += '=';
    text += value;
    all.push_back(std::move(text));
  }
  return all;
}

/// Null-terminated pointers to `texts`, as C wants them.
[[nodiscard]] inline std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// The kind of processor that a program is for, by the field e_machine of its ELF header; empty for
/// scripts.
[[nodiscard]] inline std::string machine_of(const std::string& program) {
  constexpr std::size_t offset = 18;
  std::string header(offset + 2, '\0');
  std::ifstream(program, std::ios::binary).read(header.data(), static_cast<long>(header.size()));
  return header.starts_with("\177ELF") ? header.substr(offset) : "";
}

/// The words before a program of this build: the emulator that this test runs in. Empty without
/// one.
[[nodiscard]] inline std::vector<std::string> emulator_of(const std::string& program) {
#ifdef LAYERBENCH_EMULATOR
  std::istringstream words(LAYERBENCH_EMULATOR);
  const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
  // The emulator itself is for the processor of this machine, as are interpreters.
  const std::string machine = machine_of(program);
  if (!machine.empty() && machine != machine_of(all.front())) return all;
#else
  static_cast<void>(program);
#endif
  return {};
}

/// A file that has no name: nobody who tidies a folder up can remove it while a program writes.
class unnamed_file {
 public:
  unnamed_file() : number_(::memfd_create("output", MFD_CLOEXEC)) {
    if (number_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  unnamed_file(const unnamed_file&) = delete;
  unnamed_file& operator=(const unnamed_file&) = delete;
  ~unnamed_file() { ::close(number_); }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] std::string text() const {
    return json::read_text("/proc/self/fd/" + std::to_string(number_));
  }

 private:
  int number_;
};

/// A running program. Its stdin is empty.
class child {
 public:
  /// Starts `program` with `arguments`; `out` is a file for its stdout, to be used instead of
  /// reading it, such as /dev/full.
  child(const std::string& program, std::vector<std::string> arguments,
        const environment& changes = {}, const std::string& out = {})
      : reads_out_(out.empty()) {
    arguments.insert(arguments.begin(), program);
    const std::vector<std::string> emulator = emulator_of(program);
    arguments.insert(arguments.begin(), emulator.begin(), emulator.end());
    const std::string started = arguments.front();
    std::vector<std::string> variables = merged_environment(changes);
    // Runs of mpirun that begin and end at the same time remove each other's folders in a common
    // one.
    if (changes.contains("OMPI_ALLOW_RUN_AS_ROOT")) {
      variables.push_back("OMPI_MCA_orte_tmpdir_base=" + session_.path().string());
    }
    ::posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (reads_out_) {
      ::posix_spawn_file_actions_adddup2(&files, out_.number(), STDOUT_FILENO);
    } else {
      ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT,
                                         0600);
    }
    ::posix_spawn_file_actions_adddup2(&files, err_.number(), STDERR_FILENO);
    const int failed = ::posix_spawn(&id_, started.c_str(), &files, nullptr,
                                     pointers(arguments).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), program);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  /// Kills it unless its end was waited for.
  ~child() {
    if (id_ == 0) return;
    signal(SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

  void signal(int number) const { ::kill(id_, number); }
  [[nodiscard]] ::pid_t id() const { return id_; }

  /// Waits until a signal has stopped it. Returns whether one has: false if it ended.
  [[nodiscard]] bool wait_for_stop() const {
    ::siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(id_), &info, WSTOPPED | WEXITED | WNOWAIT) < 0) {
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitid");
    }
    if (info.si_code != CLD_STOPPED) return false;
    return ::waitid(P_PID, static_cast<id_t>(id_), &info, WSTOPPED) == 0;
  }

  /// Waits for its end.
  [[nodiscard]] outcome wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0) {
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    id_ = 0;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, reads_out_ ? out_.text() : "", err_.text()};
  }

 private:
  temporary_directory session_;
  bool reads_out_;
  unnamed_file out_;
  unnamed_file err_;
  ::pid_t id_ = 0;
};

/// Runs `program` to its end; see child.
[[nodiscard]] inline outcome run(const std::string& program,
                                 const std::vector<std::string>& arguments,
                                 const environment& changes = {}, const std::string& out = {}) {
  return child(program, arguments, changes, out).wait();
}

}  // namespace layerbench::testing
