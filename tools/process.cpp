// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/split.hpp>
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

bool can_run(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
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

std::optional<std::string> environment_value(const invocation& of, const std::string& name) {
  std::optional<std::string> value;
  if (const char* const inherited = std::getenv(name.c_str())) value = inherited;
  for (const std::string& variable : of.variables) {
    if (variable.starts_with(name + '=')) value = variable.substr(name.size() + 1);
  }
  return value;
}

std::string find_program(const invocation& of) {
  std::string name = of.words.empty() ? "" : of.words.front();
  if (name.find('/') != std::string::npos && can_run(name)) return name;
  if (!name.empty() && name.find('/') == std::string::npos) {
    const std::string directories =
        environment_value(of, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
    for (const std::string_view directory : split(directories, ':')) {
      std::string path = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
      if (can_run(path)) return path;
    }
  }
  throw usage_error(fmt::format("there is no program '{}' that could be run", name));
}

void replace_all(std::string& text, std::string_view mark, const std::string& other) {
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + other.size())) {
    text.replace(at, mark.size(), other);
  }
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

std::string find_bench_model() {
  try {
    return find_program({{}, {program_path("bench_model")}});
  } catch (const usage_error&) {
    throw usage_error("there is no bench_model: build or install it, or add its folder to PATH");
  }
}

int process_runner::run(const invocation& what, const std::string& errors, const std::string& out) {
  child_output output;
  if (!out.empty()) {
    output.send(STDOUT_FILENO, out);
  } else if (errors.empty()) {
    output.send(STDOUT_FILENO, STDERR_FILENO);
  } else {
    output.discard(STDOUT_FILENO);
  }
  if (!errors.empty()) output.send(STDERR_FILENO, errors);
  return run(what, output);
}

int process_runner::run_visibly(const invocation& what) { return run(what, child_output()); }

int process_runner::run(const invocation& what, const child_output& output) {
  const ::pid_t id =
      starter_.start(find_program(what), what.words, environment_with(what.variables), output);
  for (;;) {
    const int signal = starter_.next_signal();
    if (signal != SIGCHLD) {
      if (!interrupted_) print_plain(stderr, "\nlayerbench: stopping what runs (again: at once)\n");
      interrupted_ = true;
      ::kill(-id, signal);
    }
    int status = 0;
    if (::waitpid(id, &status, WNOHANG) == id) return status;
  }
}

}  // namespace layerbench::tool
