// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/help/formatter.hpp>

/// What a shell offers to complete a command line, from the options that the program parses.
namespace layerbench::help {

/// The names that exist of "models", "sweeps", "fusions", "networks", "studies" or "backends".
using known_names = std::function<std::vector<std::string>(const std::string& kind)>;

namespace detail {

[[nodiscard]] inline std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// A candidate, and what it is for.
using candidates = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] inline candidates names_of_subcommands(const CLI::App& app) {
  candidates found;
  for (const CLI::App* command : subcommands_of(app)) {
    found.emplace_back(command->get_name(), command->get_description());
  }
  return found;
}

[[nodiscard]] inline candidates names_of_options(const CLI::App& command) {
  candidates found;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      found.emplace_back("--" + name, words_of(option->get_description()).text);
    }
  }
  return found;
}

/// The values of an option of type `word`: "{a,b}" or "a|b|FILE", or the names of its kind.
[[nodiscard]] inline candidates known_values(const CLI::Option& option, const std::string& word,
                                             const known_names& names) {
  candidates found;
  const bool listed = word.starts_with('{');
  const std::string_view values =
      listed ? std::string_view(word).substr(1, word.find('}') - 1) : word;
  for (const std::string_view value : split(values, listed ? ',' : '|')) {
    if (listed || value.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos) {
      found.emplace_back(value, "");
    }
  }
  static const std::multimap<std::string, std::string> kinds{
      {"model", "models"},     {"model", "sweeps"},  {"fusion", "fusions"},
      {"network", "networks"}, {"study", "studies"}, {"backend", "backends"}};
  for (const auto& [name, kind] : kinds) {
    if (option.get_single_name() != name) continue;
    for (const std::string& known : names(kind)) found.emplace_back(known, "");
  }
  return found;
}

/// What the arguments before the last one leave for it.
struct position {
  const CLI::App* command;
  const CLI::Option* option = nullptr;  ///< takes the last argument as its value
  std::size_t arguments = 0;            ///< positional ones so far
};

[[nodiscard]] inline position position_of_last(const CLI::App& app,
                                               const std::vector<std::string>& words) {
  position at{&app};
  const auto subcommands = subcommands_of(app);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto chosen = std::ranges::find(subcommands, words[i], &CLI::App::get_name);
    if (words[i] == "--") throw nothing_matched("a command of another program is expected");
    if (at.option != nullptr) {
      at.option = nullptr;
    } else if (i == 0 && chosen != subcommands.end()) {
      at.command = *chosen;
    } else if (words[i].starts_with('-')) {
      const CLI::Option* const option = at.command->get_option_no_throw(words[i]);
      if (option != nullptr && option->get_items_expected_min() > 0) at.option = option;
    } else {
      ++at.arguments;
    }
  }
  return at;
}

}  // namespace detail

/// Whether a shell asks for completions: the first argument is __complete, and the others are those
/// of a command line. Then what may complete the last one is printed: lines of a whole word, a tab
/// and a description. Throws nothing_matched where only the name of a file fits.
[[nodiscard]] inline bool completes(const CLI::App& app, int argc, char** argv,
                                    const known_names& names) {
  if (argc < 2 || std::string_view(argv[1]) != "__complete") return false;
  const std::vector<std::string> words(argv + 2, argv + argc);
  const std::string last = words.empty() ? "" : words.back();
  auto [command, option, arguments] = detail::position_of_last(app, words);
  bool may_be_file = false;
  detail::candidates found;
  std::string head;  // of the last word, before the value
  if (option == nullptr && last.starts_with('-') && last.find('=') == std::string::npos) {
    found = detail::names_of_options(*command);
  } else if (option == nullptr && last.starts_with('-')) {
    option = command->get_option_no_throw(last.substr(0, last.find('=')));
    head = last.substr(0, last.find('=') + 1);
  } else if (option == nullptr) {
    if (command == &app) found = detail::names_of_subcommands(app);
    const auto positionals =
        command->get_options([](const CLI::Option* of) { return of->get_positional(); });
    may_be_file = !positionals.empty();
    if (may_be_file) option = positionals[std::min(arguments, positionals.size() - 1)];
  }
  if (option != nullptr) {
    const std::string type = detail::values_of(*option).word;
    if (option->get_delimiter() == ',' && last.find(',') != std::string::npos) {
      head = last.substr(0, last.rfind(',') + 1);
    }
    found = option->get_single_name() == "subcommand" ? detail::names_of_subcommands(app)
                                                      : detail::known_values(*option, type, names);
    may_be_file = may_be_file || type.find("FILE") != std::string::npos || type == "DIR";
  }
  std::string lines;
  for (const auto& [candidate, text] : found) {
    const std::string word = head + candidate;
    if (word.starts_with(last)) lines += fmt::format("{}\t{}\n", word, text);
  }
  if (lines.empty() && may_be_file) throw nothing_matched("the name of a file is expected");
  fmt::print("{}", lines);
  return true;
}

}  // namespace layerbench::help
