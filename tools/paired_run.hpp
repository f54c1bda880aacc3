// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <layerbench/base/progress.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/json.hpp>

#include "compare_options.hpp"
#include "process.hpp"

/// Paired runs: two benchmark commands measured in turn.
namespace layerbench::tool {

struct paired_run_options {
  compare_options compare;
  std::size_t rounds = 5;
  std::uint64_t seed = 1;  // of the order in each round
  std::string keep;        // directory for the result files; empty: not kept
  bool verbose = false;
};

/// One of the two commands, with its result files.
struct variant {
  std::string name;
  invocation command;
  std::vector<result::results> files = {};  ///< one per finished round
};

using two_variants = std::array<variant, 2>;

/// Splits `words` into two commands, each after a `--`. Throws usage_error.
two_variants variants_of(const std::vector<std::string>& words);

/// The directory that the programs write to. Finished files are copied to the directory `keep`, if
/// one is given.
class scratch_directory {
 public:
  /// Throws usage_error if `keep` is no directory, is not writable or not empty.
  explicit scratch_directory(std::filesystem::path keep);
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory();

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return path_ / name; }

  /// Copies the file to the directory `keep`, if given, and returns the name to show to users.
  [[nodiscard]] std::string keep(const std::string& name) const;

 private:
  std::filesystem::path keep_;
  std::filesystem::path path_;
};

/// Runs both variants in turn and compares their result files.
class paired_run {
 public:
  /// `chosen` must outlive it. Throws what scratch_directory throws.
  paired_run(const paired_run_options& chosen, two_variants variants)
      : chosen_(chosen), scratch_(chosen.keep), variants_(std::move(variants)) {}

  /// Runs all rounds, or stops at a signal. Throws if a program fails, and after the first round if
  /// the variants cannot be compared.
  void measure();

  [[nodiscard]] std::size_t rounds() const { return first_.size(); }
  [[nodiscard]] bool interrupted() const { return runner_.interrupted(); }

  /// Compares the finished rounds.
  [[nodiscard]] analysis::comparison compared() const;

  /// Variables that only one command sets and that changed nothing the results record: neither what
  /// was loaded nor a setting; for one that chooses an instruction set: not that.
  [[nodiscard]] std::vector<std::string> without_effect(const analysis::comparison& all) const;

  /// The commands and rounds as text.
  [[nodiscard]] std::string text() const;

  /// The commands and rounds as JSON.
  [[nodiscard]] json::value to_json() const;

 private:
  bool run_round(std::size_t round, std::size_t first, progress& shown);
  void announce(double process_seconds, progress& shown) const;
  void run(const variant& of, std::size_t round, const std::filesystem::path& file);

  const paired_run_options& chosen_;
  // Declared first and so destroyed last: a late signal must not end the tool before scratch_ is
  // removed.
  process_runner runner_;
  scratch_directory scratch_;
  two_variants variants_;
  std::vector<std::string> first_;  // the variant that ran first in each finished round
};

}  // namespace layerbench::tool
