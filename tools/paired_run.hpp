// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <layerbench/analysis/compare/program_output.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/progress.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/program_output.hpp>

#include "compare_options.hpp"
#include "process.hpp"

/// Paired runs: two benchmark commands measured alternately.
namespace layerbench::tool {

struct paired_run_options {
  compare_options compare;
  std::size_t rounds = 30;   // at most
  bool every_round = false;  // even if all verdicts are sure
  std::uint64_t seed = 1;    // of the order in each round
  std::string keep;          // directory for the result files; empty: not kept
  bool verbose = false;
  std::string read;  // file that a command writes, - for its stdout; empty: see placeholder
  result::metric_choice choice;  // what to read from outputs of unknown formats
  analysis::row_weights weights;
  double max_seconds = std::numeric_limits<double>::infinity();  // no round begins later
};

/// Adds the options for rounds (`least` or more), their time and order, and what is shown of them.
void add_pair_options(CLI::App& command, paired_run_options& chosen, std::size_t least = 2);

/// Adds the options for what programs other than layerbench's print or write.
void add_output_options(CLI::App& command, paired_run_options& chosen);

/// What stands in a command for the name of the file that it is to write.
inline constexpr std::string_view placeholder = "{out}";

/// One of the two commands, with what its processes gave, one per finished round: result files of
/// layerbench, or the outputs of another program.
struct variant {
  std::string name;
  invocation command;
  std::vector<result::results> files = {};
  std::vector<result::metrics> outputs = {};
};

using two_variants = std::array<variant, 2>;

/// A process that failed, or whose output cannot be read.
struct failed_process : error {
  failed_process(std::size_t of, std::string reason, const std::string& message, exit_code code)
      : error(message, code), side(of), how(std::move(reason)) {}

  std::size_t side;  ///< the number of its variant
  std::string how;   ///< in a line
};

/// A variant by the words of its command. Throws usage_error for options without effect and for
/// commands that redirect the results that `chosen` reads.
variant variant_of(std::string name, const std::vector<std::string>& line,
                   const paired_run_options& chosen);

/// Splits `words` into two commands, each after a `--`. Throws usage_error, also what variant_of
/// throws, and for programs that do not exist.
two_variants variants_of(const paired_run_options& chosen, const std::vector<std::string>& words);

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

/// Moves a file out of the way of programs that write it or append to it, and back in the end.
class set_aside {
 public:
  /// Nothing happens if `file` is no regular file. Throws usage_error if it cannot be moved.
  explicit set_aside(const std::string& file);
  set_aside(const set_aside&) = delete;
  set_aside& operator=(const set_aside&) = delete;
  ~set_aside();

 private:
  std::filesystem::path file_;
  std::filesystem::path aside_;  // empty: there was no file
};

/// Runs both variants alternately and compares what they give.
class paired_run {
 public:
  /// `chosen` must outlive it. Throws what scratch_directory and set_aside throw.
  paired_run(const paired_run_options& chosen, two_variants variants)
      : chosen_(chosen),
        scratch_(chosen.keep),
        earlier_(chosen.read),
        variants_(std::move(variants)) {}

  /// Runs rounds until `enough` of the comparison or all rounds are done, or stops at a signal or
  /// when its time is over. Throws if a program fails (failed_process), and after the first round
  /// if the variants cannot be compared.
  void measure(const std::function<bool(const analysis::comparison&)>& enough);

  [[nodiscard]] std::size_t rounds() const { return first_.size(); }
  [[nodiscard]] bool interrupted() const { return runner_.interrupted(); }

  /// Compares the finished rounds.
  [[nodiscard]] analysis::comparison compared() const;

  /// Prints variables that only one command sets and that changed nothing the results record:
  /// neither what was loaded nor a setting; for one that chooses an instruction set: not that.
  void note_without_effect(const analysis::comparison& all) const;

  /// The commands and rounds as text.
  [[nodiscard]] std::string text(const analysis::comparison& all) const;

  /// The commands and rounds as JSON.
  [[nodiscard]] json::value to_json(const analysis::comparison& all) const;

 private:
  /// What a process gave: one of the two.
  struct process_output {
    std::optional<result::results> own;
    result::metrics other;
  };

  bool run_round(std::size_t round, std::size_t first, progress& shown);
  void announce(double process_seconds, progress& shown) const;
  [[nodiscard]] bool is_looked_at(std::size_t round) const;
  void run(const variant& of, std::size_t round, const std::filesystem::path& file);
  [[nodiscard]] process_output read(const variant& of, std::size_t round,
                                    const std::filesystem::path& file) const;
  void keep(variant& of, const std::string& file, process_output output) const;

  const paired_run_options& chosen_;
  // Declared first and so destroyed last: a late signal must not end the tool before scratch_ is
  // removed.
  process_runner runner_;
  scratch_directory scratch_;
  set_aside earlier_;
  two_variants variants_;
  std::vector<std::string> first_;  // the variant that ran first in each finished round
};

}  // namespace layerbench::tool
