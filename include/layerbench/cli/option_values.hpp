// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

/// Validators of options, and the error messages for what they refuse.
namespace layerbench::run::detail {

/// A whole number from `least` to `most`.
[[nodiscard]] CLI::Validator whole_number(std::int64_t least, std::int64_t most);

/// A number of a device, or `all`.
[[nodiscard]] std::string check_device(const std::string& text);

/// A state of the clocks of GPUs.
[[nodiscard]] std::string check_clocks(const std::string& text);

/// One of `names`.
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> names);

/// "0.2", or "0.2s" as newer versions of Google Benchmark have it.
[[nodiscard]] std::string check_seconds(const std::string& text);

/// Places in the notation of OMP_PLACES: OpenMP itself would only warn of others, and take its own.
[[nodiscard]] std::string check_places(const std::string& text);

/// "1", or "1%".
[[nodiscard]] std::string check_percent(const std::string& text);

/// The arguments after the program's name. Throws usage_error for an option without a value after
/// its `=`: CLI11 would take the next argument as its value. An empty filter selects everything.
[[nodiscard]] std::vector<std::string> arguments_of(int argc, char** argv);

/// The arguments with models behind one --model: a word that is no value of the option before it is
/// a model. As they are in programs without models.
[[nodiscard]] std::vector<std::string> with_named_models(const std::vector<std::string>& words,
                                                         const CLI::App& app);

/// The environment variable of each option that got its value from one.
[[nodiscard]] std::map<std::string, std::string> environment_sources(
    const CLI::App& app, const std::vector<std::string>& words);

/// CLI11's message, rewritten so that it begins with the option.
[[nodiscard]] std::string parse_error_message(const CLI::ParseError& e, const CLI::App& app);

/// Words as a shell reads them.
[[nodiscard]] std::string shell_quoted(const std::vector<std::string>& words);

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/option_values-inl.hpp>
#endif
