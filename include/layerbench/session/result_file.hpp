// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <layerbench/base/file_lock.hpp>
#include <layerbench/base/output_file.hpp>

namespace layerbench::run {

/// The result file of a run. Complete results replace an older file; until then, and after an
/// interrupt, the rows are in `<file>.partial`. Where no older file exists, or the run resumes it,
/// rows go to the file itself. Another run's `<file>.partial` is never overwritten, unless this run
/// resumes it.
class result_file {
 public:
  /// `resumed` names the file that the run resumes, if any. Throws usage_error when `path` cannot
  /// be written, when another run writes to it, and when `<file>.partial` is needed but holds
  /// another run's rows.
  explicit result_file(std::string path, const std::string& resumed = {})
      : path_(std::move(path)), whole_(path_) {
    if (!whole_.replaceable()) return;
    lock_.emplace(whole_.path());
    if (!would_lose(path_, resumed)) return;
    partial_.emplace(partial_path());
    partial_lock_.emplace(partial_->path());
    if (!would_lose(partial_path(), resumed)) return;
    throw usage_error(fmt::format(
        "{1} has the rows of a run that was interrupted, and would be overwritten; go on with "
        "--resume={1} --benchmark_out={0}, or remove it",
        path_, partial_path()));
  }

  /// Whether an older file stays until the results are complete.
  [[nodiscard]] bool keeps_old() const { return partial_.has_value(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string partial_path() const { return path_ + ".partial"; }

  /// Saves the rows measured so far. Throws error when writing fails.
  void save(std::string_view text) const {
    if (whole_.replaceable()) (partial_ ? *partial_ : whole_).write(text);
  }

  /// Writes the complete results. Throws error when writing fails; what was saved before is then
  /// still there.
  void finish(std::string_view text) const {
    whole_.write(text);
    std::error_code ignored;
    if (partial_) std::filesystem::remove(partial_path(), ignored);
  }

  /// Writes the rows of an interrupted run. Throws as save().
  void interrupt(std::string_view text) const { (partial_ ? *partial_ : whole_).write(text); }

 private:
  /// Whether `file` holds rows that `resumed` lacks.
  [[nodiscard]] static bool would_lose(const std::string& file, const std::string& resumed) {
    std::error_code absent;
    if (std::filesystem::file_size(file, absent) == 0 || absent) return false;
    return resumed.empty() || !std::filesystem::equivalent(file, resumed, absent);
  }

  std::string path_;
  output_file whole_;
  std::optional<file_lock> lock_;
  std::optional<file_lock> partial_lock_;
  std::optional<output_file> partial_;
};

}  // namespace layerbench::run
