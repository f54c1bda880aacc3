// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/similar_names.hpp>

namespace layerbench::tool {
namespace {

std::string subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(subcommand->get_name());
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional()) names.push_back(option->get_name(false, true));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

/// The message for an argument that `command` does not take.
std::string unexpected_argument(const CLI::App& command, const std::string& argument,
                                bool is_root) {
  if (argument.starts_with('-')) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) {
      if (option->nonpositional()) known.push_back(option->get_name());
    }
    return fmt::format("unknown option {}{}; there are: {}", argument,
                       did_you_mean(argument, std::move(known)), option_names(command));
  }
  if (!is_root) {
    return fmt::format("'{}' takes no further argument: {}", command.get_name(), argument);
  }
  return fmt::format("unknown subcommand '{}'; there are: {}", argument, subcommand_names(command));
}

/// The message for a missing argument, which `what` calls "results is required"; empty for another
/// error.
std::string missing_argument(const CLI::App& command, std::string_view what) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional() || what != option->get_name() + " is required") continue;
    const std::string help = option->get_description();
    return fmt::format("'{}' needs the argument {}: {}", command.get_name(), option->get_name(),
                       help.substr(0, help.find('\n')));
  }
  return {};
}

/// The environment variable with the invalid value; empty if an argument is invalid.
std::string invalid_variable(const CLI::App& app, std::string_view message, int argc, char** argv) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string name = option->get_name();
      const std::string variable = option->get_envname();
      if (variable.empty() || message.find(name) == std::string_view::npos) continue;
      const bool given =
          std::ranges::any_of(std::span(argv, static_cast<std::size_t>(argc)),
                              [&](std::string_view text) { return text.starts_with(name); });
      if (!given && std::getenv(variable.c_str()) != nullptr) return variable;
    }
  }
  return "";
}

}  // namespace

std::string error_message(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const bool at_root = chosen.empty() || !app.remaining().empty();
  const CLI::App& command = at_root ? app : *chosen.front();
  std::string what = e.what();
  if (const auto extra = command.remaining(); !extra.empty()) {
    what = unexpected_argument(command, extra.front(), at_root);
  } else if (at_root) {
    what = "a subcommand is missing; there are: " + subcommand_names(app);
  } else if (std::string missing = missing_argument(command, what); !missing.empty()) {
    what = std::move(missing);
  } else if (what.ends_with(" missing")) {  // "--model: 1 required TEXT missing"
    what = what.substr(0, what.find(':')) + " needs a value";
  } else if (const auto variable = invalid_variable(app, what, argc, argv); !variable.empty()) {
    what = fmt::format("environment variable {}, for {}", variable, what);
  }
  return fmt::format("{}\nTry: {} {}--help", what, argv[0],
                     at_root ? "" : command.get_name() + " ");
}

}  // namespace layerbench::tool
