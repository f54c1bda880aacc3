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

#include "child.hpp"
#include "comparing.hpp"

/// Two benchmark commands that are measured in turn.
namespace layerbench::tool {

struct contest_options {
  comparing_options comparing;
  std::size_t rounds = 5;
  std::uint64_t seed = 1;  // of the order in each round
  std::string keep;        // directory for the result files; empty: none
  bool verbose = false;
};

/// One of the two that are compared.
struct side {
  std::string name;
  invocation what;
  std::vector<result::results> files = {};  ///< one a round that is finished
};

using two_sides = std::array<side, 2>;

/// Both commands of `words`, each behind a `--`. Throws usage_error.
two_sides sides_of(const std::vector<std::string>& words);

/// Where the programs write. Files are copied to the directory `keep`, if any, when they are whole.
class workplace {
 public:
  /// Throws usage_error where `keep` is no directory, cannot be written or has files.
  explicit workplace(std::filesystem::path keep);
  workplace(const workplace&) = delete;
  workplace& operator=(const workplace&) = delete;
  ~workplace();

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return own_ / name; }

  /// Keeps that file if any are kept, and gives the name by which people know it.
  [[nodiscard]] std::string keep(const std::string& name) const;

 private:
  std::filesystem::path keep_;
  std::filesystem::path own_;
};

/// Runs both sides in turn and compares what they measured.
class contest {
 public:
  /// `chosen` must outlive it. Throws as workplace does.
  contest(const contest_options& chosen, two_sides sides)
      : chosen_(chosen), place_(chosen.keep), sides_(std::move(sides)) {}

  /// Runs round after round, until a signal ends it. Throws where a program fails, and where the
  /// first round shows already that the sides cannot be compared.
  void measure();

  [[nodiscard]] std::size_t rounds() const { return first_.size(); }
  [[nodiscard]] bool interrupted() const { return children_.interrupted(); }

  /// Compares the rounds that are finished.
  [[nodiscard]] predict::comparison compared() const;

  /// What was run, for people.
  [[nodiscard]] std::string text() const;

  /// What was run, for programs.
  [[nodiscard]] json::value to_json() const;

 private:
  bool run_round(std::size_t round, std::size_t first, progress& shown);
  void run(const side& of, std::size_t round, const std::filesystem::path& file);

  const contest_options& chosen_;
  children
      children_;  // before the others: a signal that comes late ends the tool when they are gone
  workplace place_;
  two_sides sides_;
  std::vector<std::string> first_;  // the side that ran first in each finished round
};

}  // namespace layerbench::tool
