// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace layerbench::tool {

/// The message for a command line that `app` refused with error `e`: it names the subcommand,
/// option or environment variable, and the valid ones.
std::string error_message(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv);

}  // namespace layerbench::tool
