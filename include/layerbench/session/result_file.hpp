// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/file_lock.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/output_file.hpp>

namespace layerbench::run {

/// The result file of a run. Complete results replace an older file; until then, and after an
/// interrupt, the rows are in `<file>.partial`. Where no older file exists, or the run resumes it,
/// rows go to the file itself. Another run's `<file>.partial` is never overwritten, unless this run
/// resumes it.
class result_file {
 public:
  /// `resumed` names the file that the run resumes, if any; `sample` begins as the results will.
  /// Throws usage_error when `path` cannot be written, when another run writes to it, and when
  /// `<file>.partial` is needed but holds another run's rows.
  explicit result_file(std::string path, const std::string& resumed = {},
                       overwrite_rule rule = overwrite_rule::alike, std::string_view sample = {})
      : path_(std::move(path)), whole_(path_, rule_for(path_, resumed, rule), sample) {
    if (!whole_.replaceable()) return;
    lock_.emplace(whole_.path());
    if (!would_lose(path_, resumed)) return;
    partial_.emplace(partial_path(), rule_for(partial_path(), resumed, rule), sample);
    partial_lock_.emplace(partial_->path());
    if (!would_lose(partial_path(), resumed)) return;
    throw usage_error(fmt::format(
        "{1} has the rows of a run that was interrupted, and would be overwritten; continue with "
        "--resume={1} --benchmark_out={0}, or remove it",
        path_, partial_path()));
  }

  /// Whether an older file stays until the results are complete.
  [[nodiscard]] bool keeps_old() const { return partial_.has_value(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string partial_path() const { return path_ + ".partial"; }

  /// Saves the rows measured so far. Throws error when writing fails; it says where they are
  /// instead.
  void save(std::string_view text) {
    if (whole_.replaceable()) write(partial_ ? *partial_ : whole_, text);
  }

  /// Writes the complete results. Throws as save(); what was saved before is then still there.
  void finish(std::string_view text) {
    write(whole_, text);
    std::error_code ignored;
    if (partial_) std::filesystem::remove(partial_path(), ignored);
  }

  /// Writes the rows of an interrupted run. Throws as save().
  void interrupt(std::string_view text) { write(partial_ ? *partial_ : whole_, text); }

 private:
  void write(const output_file& file, std::string_view text) {
    try {
      file.write(text);
    } catch (const error& e) {
      spare_.write(file.path(), text);
      throw error(e.what() + spare_.text());
    }
    spare_.remove();
  }

  /// A run that is resumed has the rows of its file.
  [[nodiscard]] static overwrite_rule rule_for(const std::string& file, const std::string& resumed,
                                               overwrite_rule rule) {
    const bool goes_on = !resumed.empty() && is_same_file(file, resumed);
    return goes_on ? overwrite_rule::updated : rule;
  }

  /// Whether `file` holds rows that `resumed` lacks.
  [[nodiscard]] static bool would_lose(const std::string& file, const std::string& resumed) {
    std::error_code absent;
    if (std::filesystem::file_size(file, absent) == 0 || absent) return false;
    return resumed.empty() || !is_same_file(file, resumed);
  }

  std::string path_;
  output_file whole_;
  std::optional<file_lock> lock_;
  std::optional<file_lock> partial_lock_;
  std::optional<output_file> partial_;
  spare_file spare_;
};

}  // namespace layerbench::run
