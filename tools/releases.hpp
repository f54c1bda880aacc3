// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/error.hpp>
#include <layerbench/base/file_lock.hpp>

/// Releases of a program or of a library that it uses, and the command for each.
namespace layerbench::tool {

/// Where releases come from: one of `builds`, `variable` and `package`.
struct release_options {
  std::vector<std::string> builds;  ///< directories
  std::string variable;             ///< NAME=A,B,...
  std::string package;              ///< of Python
  std::string versions;             ///< A..B or A,B,...
  std::vector<std::string> with;    ///< what pip installs beside the package
  std::string install_dir;          ///< empty: layerbench/releases in the user's cache
};

/// Whether a version is in a range, whose ends are as exact as they are written: 1.20.1 is in
/// 1.17..1.20.
[[nodiscard]] bool is_in_range(std::string_view version, std::string_view first,
                               std::string_view last);

/// A release that pip could not install.
struct failed_install : error {
  using error::error;
};

/// Releases, the oldest first.
class releases {
 public:
  /// Of the command `line`. Throws usage_error for wrong options and for a command that does not
  /// say where a build stands, error where pip does not list the versions.
  releases(release_options chosen, std::vector<std::string> line);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// The command for a release. Installs a package that is not installed yet. Throws failed_install
  /// where that fails, error where Python makes no environment.
  [[nodiscard]] std::vector<std::string> command(std::size_t release) const;

 private:
  void list_versions();
  /// The directory of a new or existing virtual environment with these packages.
  [[nodiscard]] std::filesystem::path environment(const std::vector<std::string>& packages) const;

  release_options chosen_;
  std::vector<std::string> line_;
  std::filesystem::path directory_;
  std::optional<file_lock> lock_;  ///< on the directory: two processes would break each other's
  std::string python_;             ///< its version
  std::vector<std::string> names_;
};

}  // namespace layerbench::tool
