// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <layerbench/base/output_file.hpp>

namespace layerbench::run {

/// Where the results of a run go. An older file is replaced by whole results only: until then,
/// and after an interrupt, what was measured is in its neighbour `<file>.partial`. Where there is
/// no older file, or its rows are among the new ones, the file itself grows. Rows that another run
/// left in the neighbour are never overwritten, unless they are among the new ones too.
class result_file {
 public:
  /// `resumed` is the file whose rows are among the new ones, if any. Throws usage_error when
  /// `path` cannot be written, and when its neighbour is needed but has another run's rows.
  explicit result_file(std::string path, const std::string& resumed = {})
      : path_(std::move(path)), whole_(path_) {
    if (!whole_.replaceable() || !would_lose(path_, resumed)) return;
    partial_.emplace(partial_path());
    if (!would_lose(partial_path(), resumed)) return;
    throw usage_error(fmt::format(
        "{1} has the rows of a run that was interrupted, and would be overwritten; go on with "
        "--resume={1} --benchmark_out={0}, or remove it",
        path_, partial_path()));
  }

  /// Whether the older file stays until the results are whole.
  [[nodiscard]] bool keeps_old() const { return partial_.has_value(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string partial_path() const { return path_ + ".partial"; }

  /// Saves what was measured so far. Throws error when the disk does not take it.
  void save(std::string_view text) const {
    if (whole_.replaceable()) (partial_ ? *partial_ : whole_).write(text);
  }

  /// Writes the whole results. Throws error when the disk does not take them; what was saved before
  /// is then still there.
  void finish(std::string_view text) const {
    whole_.write(text);
    std::error_code ignored;
    if (partial_) std::filesystem::remove(partial_path(), ignored);
  }

  /// Writes what an interrupted run has. Throws as save().
  void interrupt(std::string_view text) const { (partial_ ? *partial_ : whole_).write(text); }

 private:
  /// Whether `file` holds something that is not among the rows of `resumed`.
  [[nodiscard]] static bool would_lose(const std::string& file, const std::string& resumed) {
    std::error_code absent;
    if (std::filesystem::file_size(file, absent) == 0 || absent) return false;
    return resumed.empty() || !std::filesystem::equivalent(file, resumed, absent);
  }

  std::string path_;
  output_file whole_;
  std::optional<output_file> partial_;
};

}  // namespace layerbench::run
