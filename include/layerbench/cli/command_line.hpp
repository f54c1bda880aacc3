// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/backend/registry.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

/// Options as they are given: by the command line and the environment.
namespace layerbench::run {

namespace detail {

[[nodiscard]] inline std::vector<std::string> text_list(auto&& names) {
  return {names.begin(), names.end()};
}

/// An option that takes `value`, or a list of them: `type` names one; `help` is as help.hpp has it.
inline CLI::Option* add_one(CLI::App& app, const char* names, const char* type, auto& value,
                            const char* help, const char* variable) {
  return app.add_option(names, value, help)->envname(variable)->type_name(type);
}
inline CLI::Option* add_list(CLI::App& app, const char* names, const char* type, auto& values,
                             const char* help, const char* variable) {
  // A word behind it is a model, not one more value.
  return add_one(app, names, type, values, help, variable)->delimiter(',')->allow_extra_args(false);
}

}  // namespace detail

/// Reads the command line. Nothing is returned when all was said already (--help, --version).
/// Throws usage_error.
[[nodiscard]] std::optional<options> parse(int argc, char** argv, const program& what,
                                           const registry& known);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/command_line-inl.hpp>
#endif
