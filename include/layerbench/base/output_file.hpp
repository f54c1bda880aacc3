// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace layerbench {

/// Which files an output may replace. It never replaces one that was read, except `updated`.
enum class overwrite_rule : std::uint8_t {
  alike,    ///< what the programs write, by content of the same kind
  any,      ///< all, as --overwrite says
  updated,  ///< also the file that it continues
};

/// A file that is written completely or not at all: its text goes to a temporary file, which is
/// then renamed. An existing file stays intact until then.
class output_file {
 public:
  /// Checks at once that the file can be written. Throws usage_error, also where an existing file
  /// must stay. `sample` is text of the kind to come: "{" for JSON of any kind.
  explicit output_file(std::filesystem::path path, overwrite_rule rule = overwrite_rule::alike,
                       std::string_view sample = {});

  /// The file itself, where the given path is a symbolic link to it.
  [[nodiscard]] std::string path() const { return path_.string(); }

  /// Whether a later write() takes the place of an earlier one; in a pipe or a device it follows
  /// it.
  [[nodiscard]] bool replaceable() const { return replaceable_; }

  /// Replaces the file by `text`. Throws error when the disk does not take it; the old file, if
  /// any, is then still there. Throws usage_error where an existing file must stay.
  void write(std::string_view text) const;

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  /// Throws usage_error where the existing file was read, or is of another kind than `text`, which
  /// is the `whole` one or a sample.
  void refuse_to_replace(std::string_view text, bool whole) const;

  /// Whether two texts have the same first line.
  [[nodiscard]] static bool same_line(std::string_view a, std::string_view b);

  /// Writes all of a text. Returns why it could not, an errno, or 0.
  [[nodiscard]] static int write_all(int file, std::string_view text);

  /// Writes to a device or a pipe.
  void write_in_place(std::string_view text) const;

  /// Writes to a new file beside the output. Returns why it could not, an errno, or 0.
  [[nodiscard]] int write_temporary(std::string_view text, std::filesystem::path& temporary) const;

  static void discard(const std::filesystem::path& temporary);

  std::filesystem::path path_;
  overwrite_rule rule_;
  bool replaceable_ = true;
};

/// Keeps what a file did not take, in a new folder of another disk if possible, so that nothing is
/// lost. The folder stays.
class spare_file {
 public:
  /// Replaces what was kept. Returns whether it is kept.
  bool write(const std::filesystem::path& instead_of, std::string_view text);

  /// Removes what was kept, which another file now has.
  void remove();

  /// Says where it is, to follow what failed.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] static bool write_to(const std::filesystem::path& path, std::string_view text);

  std::filesystem::path path_;
};

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/output_file-inl.hpp>
#endif
