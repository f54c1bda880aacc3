// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/terminal.hpp>

/// The text of --help.
namespace layerbench::help {

namespace detail {

/// `text` in indented lines of at most 98 characters, or of the terminal's width if that is less.
[[nodiscard]] inline std::string wrapped(const std::string& text) {
  constexpr std::size_t usual = 98;
  const std::size_t columns = terminal_columns();
  const std::size_t most = columns > 0 ? std::min(usual, columns) : usual;
  const std::string indent(6, ' ');
  std::string out;
  std::string line = indent;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool begins = line.size() == indent.size();
    if (!begins && line.size() + 1 + word.size() > most) {
      out += line + '\n';
      line = indent + word;
    } else {
      line += (begins ? "" : " ") + word;
    }
  }
  return out + line + '\n';
}

/// What the description of an option says.
struct option_words {
  std::string text;
  std::string standard;  ///< what holds without the option
  std::string example;
};

/// Takes a description apart: "text [default]", then perhaps an example in a line of its own.
[[nodiscard]] inline option_words words_of(std::string description) {
  option_words words;
  if (const std::size_t end = description.find('\n'); end != std::string::npos) {
    words.example = description.substr(end + 1);
    description.resize(end);
  }
  const std::size_t open = description.rfind(" [");
  if (description.ends_with(']') && open != std::string::npos) {
    words.standard = description.substr(open + 2, description.size() - open - 3);
    description.resize(open);
  }
  words.text = description + (description.ends_with('.') ? "" : ".");
  return words;
}

/// What an option takes: a word for it, or its values in braces; and the range of numbers.
struct option_values {
  std::string word;
  std::string range;
};

[[nodiscard]] inline option_values values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // "TEXT:{a,b}", "INT:1 to 9", "INT in [1 - 9]"
  const std::size_t colon = type.find(':');
  std::string word = type.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : type.substr(colon + 1);
  if (word == "INT" || word == "UINT") word = "N";
  if (rest.starts_with('{')) return {rest, ""};
  const std::size_t open = rest.find('[');
  const std::size_t dash = rest.find(" - ");
  if (open != std::string::npos && dash != std::string::npos) {
    return {word, rest.substr(open + 1, dash - open - 1) + " to " +
                      rest.substr(dash + 3, rest.size() - dash - 4)};
  }
  return {word, rest.find(" to ") == std::string::npos ? "" : rest};
}

}  // namespace detail

/// Prints of each option its names and values, what it does, its range, default and environment
/// variable, and an example. Lines have at most 98 characters.
class formatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option(const CLI::Option* option,
                                        bool is_positional) const override {
    const detail::option_words words = detail::words_of(option->get_description());
    std::string out = "  " + head(*option, is_positional) + '\n';
    out += detail::wrapped(words.text);
    std::vector<std::string> facts;
    const std::string range = detail::values_of(*option).range;
    if (!range.empty()) facts.push_back("range: " + range);
    const std::string standard =
        words.standard.empty() ? without_brackets(option->get_default_str()) : words.standard;
    if (!standard.empty()) facts.push_back("default: " + standard);
    if (!option->get_envname().empty()) facts.push_back("variable: " + option->get_envname());
    if (!facts.empty()) out += detail::wrapped(fmt::format("{}", fmt::join(facts, "; ")));
    if (!words.example.empty()) out += detail::wrapped("example: " + words.example);
    return out;
  }

  // One empty line stands between two parts.
  [[nodiscard]] std::string make_usage(const CLI::App* app, std::string program) const override {
    return CLI::Formatter::make_usage(app, std::move(program)) + '\n';
  }
  [[nodiscard]] std::string make_positionals(const CLI::App* app) const override {
    const std::string positionals = CLI::Formatter::make_positionals(app);
    return positionals.empty() ? "" : positionals + '\n';
  }
  [[nodiscard]] std::string make_group(std::string heading, bool is_positional,
                                       std::vector<const CLI::Option*> options) const override {
    std::string out = std::move(heading) + ":\n";
    for (const CLI::Option* option : options) out += make_option(option, is_positional);
    return out;
  }

 private:
  /// "--cache {hot,model,cold},...", "--chain[={steps,layers}]" or "results...".
  [[nodiscard]] static std::string head(const CLI::Option& option, bool is_positional) {
    const std::string value = detail::values_of(option).word;
    const bool several = option.get_expected_max() > 1;
    if (is_positional) return option.get_name(true) + (several ? "..." : "");
    std::string names = option.get_name(false, true);
    const std::size_t brace = names.find('{');  // of a flag that may have a value
    const bool may_have_value = brace != std::string::npos;
    names.resize(std::min(brace, names.size()));
    if (option.get_items_expected_max() == 0 && !may_have_value) return names;
    if (may_have_value || option.get_expected_min() == 0) {
      return fmt::format("{}[={}]", names, value);
    }
    return fmt::format("{} {}{}", names, value, several ? ",..." : "");
  }

  /// The default of a list, "[a,b]", as the option takes it.
  [[nodiscard]] static std::string without_brackets(const std::string& text) {
    const bool list = text.size() > 1 && text.front() == '[' && text.back() == ']';
    return list ? text.substr(1, text.size() - 2) : text;
  }
};

}  // namespace layerbench::help
