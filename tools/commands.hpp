// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::tool {

/// Options that every subcommand has.
struct common_options {
  std::string format = "text";
  std::string output;
  std::string shapes;
};

/// Adds the common options to a subcommand. Each has its own: CLI11 reads the environment into
/// those of every subcommand, the chosen one or not.
std::shared_ptr<const common_options> add_common(CLI::App& command);

/// Writes a result to stdout or to the output file; that one is replaced in one step or not at
/// all. Throws usage_error when it cannot be written.
void write(const common_options& common, const std::string& result);

/// Reads result files, and says on stderr which of them are kept apart, and why. Throws bad_input.
std::vector<result::results> read_results(const std::vector<std::string>& files);

/// `value` as JSON text; file names may hold any bytes, JSON may not.
std::string json_text(const json::value& value);

/// One function a subcommand: its options, and what it does once they are read.
void add_list(CLI::App& app);
void add_show(CLI::App& app);
void add_predict(CLI::App& app);
void add_validate(CLI::App& app);

}  // namespace layerbench::tool
