// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace layerbench::tool {

/// What is wrong with a command line that `app` refused with `slip`, in words that name the
/// subcommand, option or environment variable and what there is instead.
std::string explain(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv);

}  // namespace layerbench::tool
