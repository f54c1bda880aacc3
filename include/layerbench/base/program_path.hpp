// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include <layerbench/base/system.hpp>

namespace layerbench {

/// Whether a shell finds a program by its name.
[[nodiscard]] inline bool is_on_path(const std::string& name) {
  const char* folders = std::getenv("PATH");
  std::istringstream stream(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(stream, folder, ':');) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) return true;
  }
  return false;
}

/// What to type for `name`, a program of layerbench, where this one was `started` so: its path
/// beside this program, as installed or as in a build. The name alone where the shell finds it, and
/// where it is neither.
[[nodiscard]] inline std::string program_path(
    const std::string& name, const std::filesystem::path& started = program_invocation_name) {
  const bool by_name = !started.has_parent_path();
  if (by_name && is_on_path(name)) return name;
  const std::filesystem::path folder =
      (by_name ? machine::this_program().value_or(started) : started).parent_path();
  for (const char* where : {"", "../bench", "../tools"}) {
    const std::filesystem::path path = (folder / where / name).lexically_normal();
    if (!std::filesystem::exists(path)) continue;
    return path.has_parent_path() ? path.string() : "./" + path.string();
  }
  return name;
}

}  // namespace layerbench
