// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

/// Files that users name to be read.
namespace layerbench {

/// Which file it is, whatever its name. The time of its creation tells it from a later file that
/// got the number of a removed one; it is 0 on file systems that do not keep it.
struct file_identity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::int64_t created_seconds = 0;
  std::uint32_t created_nanoseconds = 0;
  std::uint16_t mode = 0;

  friend auto operator<=>(const file_identity&, const file_identity&) = default;
};

/// The file that a path leads to; "-" is stdin. Nothing where there is none.
[[nodiscard]] std::optional<file_identity> identity_of(const std::filesystem::path& path);

/// Whether two paths lead to the same file, which may be a pipe.
[[nodiscard]] bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// The path by which to open the file that a user named; "-" is stdin. What pipes hold is read
/// once, and has a path that can be opened again and again. No output_file replaces a file that was
/// asked for here. Throws bad_input for an empty pipe, and usage_error where the program's own
/// output goes to the file.
[[nodiscard]] std::filesystem::path input_path(const std::filesystem::path& named);

/// Whether input_path() was asked for this file.
[[nodiscard]] bool is_input(const std::filesystem::path& path);

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/input_path-inl.hpp>
#endif
