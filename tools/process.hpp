// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/child_process.hpp>

/// Child processes of the tool.
namespace layerbench::tool {

/// A command as env(1) takes it.
struct invocation {
  std::vector<std::string> variables;  ///< NAME=VALUE, added to the tool's environment
  std::vector<std::string> words;      ///< program and arguments

  /// Variables and words.
  [[nodiscard]] std::vector<std::string> line() const;
};

/// Splits `line` into leading variables and the command.
invocation invocation_of(const std::vector<std::string>& line);

/// The value of an environment variable for a command; nothing if it is not set.
std::optional<std::string> environment_value(const invocation& of, const std::string& name);

/// The path of the program of a command. Throws usage_error if no executable is found.
std::string find_program(const invocation& of);

/// The path of bench_model: beside the tool, or on the PATH. Throws usage_error.
std::string find_bench_model();

/// Puts `other` in the place of each `mark` in `text`.
void replace_all(std::string& text, std::string_view mark, const std::string& other);

/// The last lines of a file, at most `most`.
std::vector<std::string> last_lines(const std::filesystem::path& file, std::size_t most);

/// Runs programs one after another. During its lifetime the signals of child_starter are passed on
/// to the running program, and end the tool only when that program has ended.
class process_runner {
 public:
  /// Runs `what` with an empty stdin, and returns its status of wait(2). Its stderr goes to the
  /// file `errors` and its stdout is discarded; if `errors` is empty, both go to the tool's stderr.
  /// If `out` is not empty, stdout goes to this file. Throws usage_error and error if it cannot be
  /// run.
  int run(const invocation& what, const std::string& errors, const std::string& out = "");

  /// The same with the tool's stdout and stderr.
  int run_visibly(const invocation& what);

  /// Whether a signal arrived while a program ran.
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  int run(const invocation& what, const child_output& output);

  child_starter starter_;
  bool interrupted_ = false;
};

}  // namespace layerbench::tool
