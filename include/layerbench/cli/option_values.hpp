// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/similar_names.hpp>
#include <layerbench/session/options.hpp>

/// Validators of options, and the error messages for what they refuse.
namespace layerbench::run::detail {

/// A whole number from `least` to `most`.
[[nodiscard]] inline CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const auto value = parse_number<std::int64_t>(text);
    if (value && *value >= least && *value <= most) return {};
    return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
  return {check, fmt::format("{} to {}", least, most)};
}

/// A number of a device, or `all`.
[[nodiscard]] inline std::string check_device(const std::string& text) {
  constexpr int most = 1023;
  if (text == "all" || whole_number(0, most)(text).empty()) return {};
  return fmt::format("'{}' is neither a number from 0 to {} nor all", text, most);
}

/// A state of the clocks of GPUs.
[[nodiscard]] inline std::string check_clocks(const std::string& text) {
  constexpr int most = 9999;  // MHz
  constexpr std::string_view lock = "lock:";
  if (text == "burst" || text == "steady" || text == options::lock) return {};
  if (text.starts_with(lock) && whole_number(1, most)(text.substr(lock.size())).empty()) return {};
  return fmt::format("'{}' is none of burst, steady, lock and lock:MHZ, from 1 to {} MHz", text,
                     most);
}

/// One of `names`.
[[nodiscard]] inline CLI::Validator one_of(std::vector<std::string> names) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(names, ","));
  const auto check = [names = std::move(names)](const std::string& text) -> std::string {
    if (std::ranges::find(names, text) != names.end()) return {};
    return fmt::format("unknown value '{}'; known: {}", text, fmt::join(names, ", "));
  };
  return {check, shown};
}

/// "0.2", or "0.2s" as newer versions of Google Benchmark have it.
[[nodiscard]] inline std::string check_seconds(const std::string& text) {
  std::string_view unit = text;
  const auto value = take_number<double>(unit);
  if (value && *value >= 0 && *value <= 1e6 && (unit.empty() || unit == "s")) return {};
  return fmt::format("'{}' is not a number of seconds, such as 0.2", text);
}

/// Places in the notation of OMP_PLACES: OpenMP itself would only warn of others, and take its own.
[[nodiscard]] inline std::string check_places(const std::string& text) {
  constexpr std::array<std::string_view, 5> names{"threads", "cores", "ll_caches", "numa_domains",
                                                  "sockets"};
  const std::string_view name = std::string_view(text).substr(0, text.find('('));
  const bool named = std::ranges::find(names, name) != names.end();
  const bool listed = (text.starts_with('{') || text.starts_with("!{")) &&
                      text.find_first_not_of("0123456789{},:!-") == std::string::npos &&
                      std::ranges::count(text, '{') == std::ranges::count(text, '}');
  if (named || listed) return {};
  return fmt::format(
      "'{}' is neither a list of places, such as {{0}}:4 or {{0,1}},{{2,3}}, nor one of {}", text,
      fmt::join(names, ", "));
}

/// "1", or "1%".
[[nodiscard]] inline std::string check_percent(const std::string& text) {
  std::string_view unit = text;
  const auto value = take_number<double>(unit);
  if (value && *value > 0 && *value <= 100 && (unit.empty() || unit == "%")) return {};
  return fmt::format("'{}' is not a percentage above 0, such as 1", text);
}

/// The arguments after the program's name. Throws usage_error for an option without a value after
/// its `=`: CLI11 would take the next argument as its value. An empty filter selects everything.
[[nodiscard]] inline std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string& word : words) {
    if (word == "--benchmark_filter=") word += '.';
    if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
    word.pop_back();
    throw usage_error(word + ": a value is missing after the '='");
  }
  return words;
}

/// The arguments with models behind one --model: a word that is no value of the option before it is
/// a model. As they are in programs without models.
[[nodiscard]] inline std::vector<std::string> with_named_models(
    const std::vector<std::string>& words, const CLI::App& app) {
  const CLI::Option* const models = app.get_option_no_throw("--model");
  if (models == nullptr) return words;
  constexpr int most_models = 1 << 20;
  std::vector<std::string> named;
  std::string model;
  int values_left = 0;  // that the option before may take
  for (const std::string& word : words) {
    if (word.size() > 1 && word.starts_with('-')) {
      const CLI::Option* option = app.get_option_no_throw(word);  // none for NAME=VALUE
      values_left = option == nullptr  ? 0
                    : option == models ? most_models
                                       : std::min(option->get_items_expected_max(), 1);
      named.push_back(word);
    } else if (values_left > 0) {
      --values_left;
      named.push_back(word);
    } else {
      model += (model.empty() ? "--model=" : ",") + word;
    }
  }
  if (!model.empty()) named.push_back(model);
  return named;
}

/// The environment variable of each option that got its value from one.
[[nodiscard]] inline std::map<std::string, std::string> environment_sources(
    const CLI::App& app, const std::vector<std::string>& words) {
  std::map<std::string, std::string> variables;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const std::string variable = option->get_envname();
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    const bool typed = std::ranges::any_of(words, [&](const std::string& word) {
      return word == name || word.starts_with(name + "=");
    });
    if (value != nullptr && *value != '\0' && !typed) variables[name] = variable;
  }
  return variables;
}

/// CLI11's message, rewritten so that it begins with the option.
[[nodiscard]] inline std::string parse_error_message(const CLI::ParseError& e,
                                                     const CLI::App& app) {
  std::string text = e.what();
  const auto after = [&](std::string_view begin) {
    return text.starts_with(begin) ? text.substr(begin.size()) : std::string();
  };
  if (const std::string what = after("Could not convert: "); !what.empty()) {
    const std::size_t equals = what.find(" = ");
    return fmt::format("{}: '{}' is neither true nor false", what.substr(0, equals),
                       what.substr(std::min(equals, what.size() - 3) + 3));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
    const std::string given = text.substr(text.find(": ") + 2);
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
    return given + ": no such option" + did_you_mean(given, std::move(known));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr) {
    const bool missing = text.find("missing") != std::string::npos;
    return text.substr(0, text.find(':')) + (missing ? ": a value is missing" : ": given twice");
  }
  return text;
}

/// Words as a shell reads them.
[[nodiscard]] inline std::string shell_quoted(const std::vector<std::string>& words) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
  std::string line;
  for (std::string word : words) {
    if (word.empty() || word.find_first_not_of(plain) != std::string::npos) {
      for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) {
        word.replace(at, 1, R"('\'')");
      }
      word = fmt::format("'{}'", word);
    }
    line += line.empty() ? "" : " ";
    line += word;
  }
  return line;
}

}  // namespace layerbench::run::detail
