// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::tool {

/// Options that every subcommand has.
struct common_options {
  std::string format;
  std::string output;
  std::string shapes;
};

/// Adds the common options to a subcommand that has these formats, the first by default. Each has
/// its own options: CLI11 reads the environment into those of every subcommand, the chosen one or
/// not.
std::shared_ptr<const common_options> add_common(CLI::App& command,
                                                 const std::vector<std::string>& formats = {
                                                     "text", "json", "csv"});

/// Adds the options that say what is predicted, and how.
void add_prediction_options(CLI::App& command, analysis::options& chosen);

/// Adds the option that names files of peaks.
void add_peaks(CLI::App& command, std::vector<std::string>& files);

/// Throws when a prediction lacks layers, naming them.
void require_complete(const std::vector<analysis::prediction>& predictions);

/// Throws when a case could not be validated, saying why.
void require_complete(const analysis::validation& all);

/// Writes a result to stdout or to the output file; that one is replaced in one step or not at
/// all. Throws usage_error when it cannot be written.
void write(const common_options& common, const std::string& result);

/// Whether `file` was read already, under whatever name.
bool holds(const std::vector<result::results>& read, const std::string& file);

/// Reads result files. Throws bad_input, and usage_error where one is named twice.
std::vector<result::results> read_each(const std::vector<std::string>& files);

/// The same of files that are to have peaks. Throws bad_input for one that has none.
std::vector<result::results> read_peaks(const std::vector<std::string>& files);

/// Says on stderr which files are kept apart, and why.
void say_kept_apart(const std::vector<result::results>& read);

/// Reads them, and says that.
std::vector<result::results> read_results(const std::vector<std::string>& files);

/// The number that `text` is, or nothing.
std::optional<double> number_of(std::string_view text);

/// What is wrong with `text` as a number from `least` to `most`, in words that name `what` is
/// expected; nothing when it is one.
std::string check_number(const std::string& text, double least, double most, std::string_view what);

/// `value` as JSON text; file names may hold any bytes, JSON may not.
std::string json_text(const json::value& value);

/// One function a subcommand: its options, and what it does once they are read.
void add_list(CLI::App& app);
void add_show(CLI::App& app);
void add_predict(CLI::App& app);
void add_validate(CLI::App& app);
void add_compare(CLI::App& app);
/// `words` are those behind the first `--`, that one included.
void add_versus(CLI::App& app, const std::vector<std::string>& words);
void add_report(CLI::App& app);

}  // namespace layerbench::tool
