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

/// Two benchmark commands that are measured in turn.
namespace layerbench::tool {

struct contest_options {
  comparing_options compare_options;
  std::size_t rounds = 5;
  std::uint64_t seed = 1;  // of the order in each round
  std::string keep;        // directory for the result files; empty: none
  bool verbose = false;
};

/// One of the two that are compared.
struct variant {
  std::string name;
  invocation what;
  std::vector<result::results> files = {};  ///< one a round that is finished
};

using two_sides = std::array<variant, 2>;

/// Both commands of `words`, each behind a `--`. Throws usage_error.
two_sides sides_of(const std::vector<std::string>& words);

/// Where the programs write. Files are copied to the directory `keep`, if any, when they are whole.
class scratch_directory {
 public:
  /// Throws usage_error where `keep` is no directory, cannot be written or has files.
  explicit scratch_directory(std::filesystem::path keep);
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory();

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return own_ / name; }

  /// Keeps that file if any are kept, and gives the name by which people know it.
  [[nodiscard]] std::string keep(const std::string& name) const;

 private:
  std::filesystem::path keep_;
  std::filesystem::path own_;
};

/// Runs both sides in turn and compares what they measured.
class paired_run {
 public:
  /// `chosen` must outlive it. Throws as workplace does.
  paired_run(const contest_options& chosen, two_sides sides)
      : chosen_(chosen), place_(chosen.keep), sides_(std::move(sides)) {}

  /// Runs round after round, until a signal ends it. Throws where a program fails, and where the
  /// first round shows already that the sides cannot be compared.
  void measure();

  [[nodiscard]] std::size_t rounds() const { return first_.size(); }
  [[nodiscard]] bool interrupted() const { return process_runner_.interrupted(); }

  /// Compares the rounds that are finished.
  [[nodiscard]] analysis::comparison compared() const;

  /// What was run, for people.
  [[nodiscard]] std::string text() const;

  /// What was run, for programs.
  [[nodiscard]] json::value to_json() const;

 private:
  bool run_round(std::size_t round, std::size_t first, progress& shown);
  void run(const variant& of, std::size_t round, const std::filesystem::path& file);

  const contest_options& chosen_;
  process_runner process_runner_;  // before the others: a signal that comes late ends the tool when
                                   // they are gone
  scratch_directory place_;
  two_sides sides_;
  std::vector<std::string> first_;  // the side that ran first in each finished round
};

}  // namespace layerbench::tool
