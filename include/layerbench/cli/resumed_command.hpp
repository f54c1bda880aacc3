// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <layerbench/session/program.hpp>

/// The command that --resume=FILE continues: FILE has it, so nobody needs to type it again.
namespace layerbench::run::detail {

/// An option and the words that belong to it.
struct given_option {
  std::string name;  ///< empty: words before the first option
  std::vector<std::string> words;

  /// Its values, joined by commas; empty where it has none.
  [[nodiscard]] std::string value() const;
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] std::vector<given_option> options_in(const std::vector<std::string>& words);

/// The words of a command line, as a shell reads them: the inverse of shell_quoted().
[[nodiscard]] std::vector<std::string> shell_words(std::string_view line);

/// The group of the options that say what is measured, under which conditions.
inline constexpr const char* what_is_measured = "What is measured";

/// Replaces paths of models that are not there by the absolute ones in `shape_files`, which commas
/// separate.
void find_shape_files(given_option& models, const std::string& shape_files);

/// The recorded options of a result file that is resumed, as far as `given` lacks them. Throws
/// usage_error, naming both values, where one of `given` disagrees, and bad_input.
[[nodiscard]] std::vector<std::string> recorded_words(const std::string& file,
                                                      const std::vector<given_option>& given,
                                                      const program& what, const CLI::App& app);

/// The recorded options that a command line lacks, where it resumes a file without naming what to
/// measure; else none. `given` includes options from the environment. Throws as recorded_words().
[[nodiscard]] std::vector<std::string> resumed_words(const std::vector<std::string>& given,
                                                     const program& what, const CLI::App& app);

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/resumed_command-inl.hpp>
#endif
