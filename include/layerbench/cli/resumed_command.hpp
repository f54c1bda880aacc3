// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <layerbench/base/error.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/session/program.hpp>

/// The command that --resume=FILE continues: FILE has it, so nobody needs to type it again.
namespace layerbench::run::detail {

/// An option and the words that belong to it.
struct given_option {
  std::string name;  ///< empty: words before the first option
  std::vector<std::string> words;

  /// Its values, joined by commas; empty where it has none.
  [[nodiscard]] std::string value() const {
    if (name.empty()) return fmt::format("{}", fmt::join(words, ","));
    std::string text = words.front().substr(std::min(words.front().size(), name.size() + 1));
    for (std::size_t i = 1; i < words.size(); ++i) text += (text.empty() ? "" : ",") + words[i];
    return text;
  }
  [[nodiscard]] std::string text() const {
    const std::string own = value();
    return own.empty() ? name : name + '=' + own;
  }
};

/// The group of the options that say what is measured, under which conditions.
inline constexpr const char* what_is_measured = "What is measured";

[[nodiscard]] inline std::vector<given_option> options_in(const std::vector<std::string>& words) {
  std::vector<given_option> all;
  for (const std::string& word : words) {
    if (word.starts_with('-')) {
      all.push_back({word.substr(0, word.find('=')), {word}});
      continue;
    }
    if (all.empty()) all.push_back({});
    all.back().words.push_back(word);
  }
  return all;
}

/// The words of a command line, as a shell reads them: the inverse of shell_quoted().
[[nodiscard]] inline std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;  // of a word
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (line[i] == '\\' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else if (line[i] == '\'') {
      const std::size_t end = std::min(line.find('\'', i + 1), line.size());
      words.back() += line.substr(i + 1, end - i - 1);
      i = end;
    } else {
      words.back() += line[i];
    }
  }
  return words;
}

/// Whether a resumed run must have the option as the run before.
[[nodiscard]] inline bool must_agree(const std::string& name, const CLI::App& app) {
  constexpr std::array<std::string_view, 3> free{"--chain", "--device", "--yes"};
  constexpr std::array<std::string_view, 2> others{"--seed", "--speed"};
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || std::ranges::find(free, name) != free.end()) return false;
  return option->get_group() == what_is_measured || std::ranges::find(others, name) != others.end();
}

/// Whether a recorded option says nothing of a run that is resumed.
[[nodiscard]] inline bool is_of_that_run(std::string_view name) {
  return name == "--resume" || name == "--benchmark_out" || name == "--turns" || name == "--budget";
}

/// Replaces paths of models that are not there by the absolute ones in `shape_files`, which commas
/// separate.
inline void find_shape_files(given_option& models, const std::string& shape_files) {
  std::string found;
  std::istringstream names(models.value());
  for (std::string name; std::getline(names, name, ',');) {
    std::istringstream files(shape_files);
    const bool absent = model::is_path(name) && !std::filesystem::exists(name);
    for (std::string file; absent && std::getline(files, file, ',');) {
      if (std::filesystem::path(file).filename() != std::filesystem::path(name).filename())
        continue;
      name = file;
      break;
    }
    found += (found.empty() ? "" : ",") + name;
  }
  models.words = {models.name + '=' + found};
}

/// The recorded options of a result file that is resumed, as far as `given` lacks them. Throws
/// usage_error, naming both values, where one of `given` disagrees, and bad_input.
[[nodiscard]] inline std::vector<std::string> recorded_words(const std::string& file,
                                                             const std::vector<given_option>& given,
                                                             const program& what,
                                                             const CLI::App& app) {
  const result::results before = result::read(file);
  const auto command = before.context_value("command");
  if (!command) {
    throw bad_input(file, "/context/command",
                    fmt::format("is missing, so the options of that run are not known; type them "
                                "again: {} --resume={} --model=...",
                                what.name, file));
  }
  std::vector<std::string> words = shell_words(*command);
  const std::string program =  // older files have its file name alone
      before.context_value("layerbench_program")
          .value_or(std::filesystem::path(words.empty() ? "" : words[0]).filename());
  if (program != what.name) {
    throw usage_error(fmt::format("--resume={}: {} measured it, not {}", file, program, what.name));
  }
  words.erase(words.begin());
  const std::vector<given_option> recorded = options_in(words);
  std::vector<std::string> missing;
  std::string out;
  for (given_option option : recorded) {
    if (option.name == "--benchmark_out") out = option.value();
    const bool known = std::ranges::find(given, option.name, &given_option::name) != given.end();
    if (known || is_of_that_run(option.name)) continue;
    if (option.name == "--model") {
      find_shape_files(option, before.context_value("shape_files").value_or(""));
    }
    missing.insert(missing.end(), option.words.begin(), option.words.end());
  }
  // The rows of an interrupted run wait there for the file that they are to replace.
  if (std::ranges::find(given, "--benchmark_out", &given_option::name) == given.end() &&
      file == out + ".partial") {
    missing.push_back("--benchmark_out=" + out);
  }
  for (const given_option& option : given) {
    if (!must_agree(option.name, app)) continue;
    const auto then = std::ranges::find(recorded, option.name, &given_option::name);
    if (then != recorded.end() && then->value() == option.value()) continue;
    throw usage_error(fmt::format(
        "{}: {} was measured {}; to measure something else into it, name --model, too",
        option.text(), file, then == recorded.end() ? "without it" : "with " + then->text()));
  }
  return missing;
}

/// The recorded options that a command line lacks, where it resumes a file without naming what to
/// measure; else none. `given` includes options from the environment. Throws as recorded_words().
[[nodiscard]] inline std::vector<std::string> resumed_words(const std::vector<std::string>& given,
                                                            const program& what,
                                                            const CLI::App& app) {
  const std::vector<given_option> options = options_in(given);
  constexpr std::array<std::string_view, 5> alone{"", "--model", "--help", "-h", "--version"};
  std::string file;
  std::string device;
  for (const given_option& option : options) {
    if (std::ranges::find(alone, option.name) != alone.end()) return {};
    if (option.name == "--resume") file = option.value();
    if (option.name == "--device") device = option.value();
  }
  // Of all devices, each has a file of its own.
  if (file.empty() || device == "all") return {};
  return recorded_words(file, options, what, app);
}

}  // namespace layerbench::run::detail
