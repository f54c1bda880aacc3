// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

/// Programs that the tool runs.
namespace layerbench::tool {

/// A command as env(1) takes it.
struct invocation {
  std::vector<std::string> variables;  ///< NAME=VALUE each, beside the tool's own environment
  std::vector<std::string> words;      ///< the program and its arguments

  /// All of its words.
  [[nodiscard]] std::vector<std::string> line() const;
};

/// The command in `line`, which may begin with variables.
invocation invocation_of(const std::vector<std::string>& line);

/// Path of the program that `of` names. Throws usage_error where there is none that can be run.
std::string find_program(const invocation& of);

/// What a status of wait(2) says: "exit code 3", "signal 11 (Segmentation fault)".
std::string ending(int status);

/// Runs programs, each to its end. For as long as it lives, SIGINT and SIGTERM go to the program
/// that is running, and end the tool only after that.
class process_runner {
 public:
  process_runner();
  process_runner(const process_runner&) = delete;
  process_runner& operator=(const process_runner&) = delete;
  ~process_runner();

  /// Runs `what` with `more` arguments and an empty stdin, and returns its status as wait(2) has
  /// it. Its stderr goes to the file `errors`, and its stdout nowhere; or both to the tool's
  /// stderr, where `errors` is empty. Throws usage_error and error where it cannot be run.
  int run(const invocation& what, const std::vector<std::string>& more, const std::string& errors);

  /// Whether a signal came while a program ran.
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  [[nodiscard]] ::pid_t start(const invocation& what, const std::vector<std::string>& more,
                              const std::string& errors) const;

  ::sigset_t waited_for_{};
  ::sigset_t before_{};
  bool interrupted_ = false;
};

}  // namespace layerbench::tool
