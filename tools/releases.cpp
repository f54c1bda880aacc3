// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "releases.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/split.hpp>

#include "commands.hpp"
#include "process.hpp"

namespace layerbench::tool {
namespace {

constexpr std::string_view place_mark = "{}";  ///< in a command: the place of the release

std::vector<std::int64_t> numbers_of(std::string_view version, std::size_t most) {
  std::vector<std::int64_t> numbers;
  for (std::string_view part : split(version, '.')) {
    if (numbers.size() < most) numbers.push_back(take_number<std::int64_t>(part).value_or(0));
  }
  return numbers;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  for (const std::string_view word : split(list, ',')) words.emplace_back(word);
  return words;
}

std::filesystem::path default_directory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::filesystem::path base = cache != nullptr  ? std::filesystem::path(cache)
                                     : home != nullptr ? std::filesystem::path(home) / ".cache"
                                                       : std::filesystem::temp_directory_path();
  return base / "layerbench" / "releases";
}

/// Runs a command of pip or of Python. Throws Error with the end of what it printed.
template <class Error = error>
void run(const std::vector<std::string>& words, const std::filesystem::path& printed) {
  process_runner runner;
  const std::string errors = printed.string() + ".errors";
  const int status = runner.run({{}, words}, errors, printed.string());
  if (runner.interrupted()) throw error("interrupted", exit_code::interrupted);
  if (status == 0) return;
  std::vector<std::string> last = last_lines(errors, 2);
  if (last.empty()) last = last_lines(printed, 2);
  const std::string program = std::filesystem::path(words.front()).filename();
  throw Error(fmt::format("{} {}: {}: {}", program, fmt::join(words.begin() + 1, words.end(), " "),
                          status_text(status), fmt::join(last, " ")));
}

}  // namespace

bool is_in_range(std::string_view version, std::string_view first, std::string_view last) {
  const auto up_to = [&](std::string_view end) {
    std::vector<std::int64_t> of_end = numbers_of(end, SIZE_MAX);
    std::vector<std::int64_t> of_version = numbers_of(version, of_end.size());
    of_version.resize(of_end.size());
    return std::pair(std::move(of_version), std::move(of_end));
  };
  const auto [at_first, from] = up_to(first);
  const auto [at_last, to] = up_to(last);
  return at_first >= from && at_last <= to;
}

releases::releases(release_options chosen, std::vector<std::string> line)
    : chosen_(std::move(chosen)), line_(std::move(line)) {
  const int kinds =
      int{!chosen_.builds.empty()} + int{!chosen_.variable.empty()} + int{!chosen_.package.empty()};
  if (kinds != 1) {
    throw usage_error(
        "bisect needs releases: give exactly one of --builds DIR..., --env NAME=A,B,... and "
        "--package NAME with --versions A..B");
  }
  if (line_.empty()) {
    throw usage_error(
        "bisect needs a command behind a --\nTry: layerbench bisect [OPTIONS] -- COMMAND");
  }
  const bool says_where = std::ranges::any_of(
      line_, [](const std::string& word) { return word.find(place_mark) != word.npos; });
  if (!chosen_.builds.empty()) {
    if (!says_where) throw usage_error("--builds: the command needs a {}, the place of the build");
    names_ = chosen_.builds;
  } else if (!chosen_.variable.empty()) {
    const std::size_t equals = chosen_.variable.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw usage_error("--env: expected NAME=A,B,..., found " + chosen_.variable);
    }
    names_ = words_of(std::string_view(chosen_.variable).substr(equals + 1));
    const std::string sets = chosen_.variable.substr(0, equals + 1);
    for (const std::string& variable : invocation_of(line_).variables) {
      if (!variable.starts_with(sets)) continue;
      throw usage_error(fmt::format("--env: the command sets {} itself; leave it out", variable));
    }
  } else {
    directory_ = std::filesystem::absolute(chosen_.install_dir.empty()
                                               ? default_directory()
                                               : std::filesystem::path(chosen_.install_dir));
    require_writable("--install-dir", directory_);
    lock_.emplace((directory_ / "environments").string(), "choose another --install-dir");
    run({"python3", "--version"}, directory_ / "printed");
    python_ = fmt::format("{}", fmt::join(last_lines(directory_ / "printed", 1), ""));
    list_versions();
  }
  const std::string given =
      !chosen_.builds.empty() ? fmt::format("--builds={}", fmt::join(chosen_.builds, ","))
      : !chosen_.variable.empty()
          ? "--env=" + chosen_.variable
          : "--package=" + chosen_.package + " --versions=" + chosen_.versions;
  if (std::ranges::find(names_, "") != names_.end()) {
    throw usage_error("a release without a name in " + given);
  }
  if (names_.size() < 2) {
    throw usage_error(fmt::format("bisect needs two releases or more, found {} in {}",
                                  names_.empty() ? "none" : "only " + names_.front(), given));
  }
}

void releases::list_versions() {
  const std::size_t dots = chosen_.versions.find("..");
  if (dots == std::string::npos) {
    names_ = words_of(chosen_.versions);
    return;
  }
  const std::string first = chosen_.versions.substr(0, dots);
  const std::string last = chosen_.versions.substr(dots + 2);
  if (first.empty() || last.empty() || last.find("..") != last.npos) {
    throw usage_error("--versions: expected A..B or A,B,..., found " + chosen_.versions);
  }
  note("asking pip for the versions of " + chosen_.package);
  const std::filesystem::path pip = environment({}) / "bin" / "pip";
  const std::filesystem::path printed = directory_ / "versions";
  run({pip.string(), "index", "versions", chosen_.package}, printed);
  std::ifstream text(printed);
  constexpr std::string_view begin = "Available versions: ";
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(begin)) continue;
    std::erase(line, ' ');
    for (std::string& version : words_of(std::string_view(line).substr(begin.size() - 2))) {
      if (is_in_range(version, first, last)) names_.push_back(std::move(version));
    }
  }
  std::ranges::reverse(names_);  // pip has the newest first
}

std::filesystem::path releases::environment(const std::vector<std::string>& packages) const {
  const std::string name = packages.empty() ? "pip" : fmt::format("{}", fmt::join(packages, "+"));
  // File systems allow 255 bytes, and a : ends a folder of PATH.
  constexpr std::size_t most = 100;
  std::string folder = fmt::format("{}_{}_{:x}", name.substr(0, most), python_.substr(0, most),
                                   std::hash<std::string>()(name));
  const auto is_unfit = [](char c) { return c == '/' || c == ':' || c == ' '; };
  std::ranges::replace_if(folder, is_unfit, '_');
  std::filesystem::path place = directory_ / folder;
  const std::filesystem::path whole = place / "installed";
  if (std::filesystem::exists(whole)) return place;
  if (!packages.empty()) note("installing " + name);
  run({"python3", "-m", "venv", "--clear", place.string()}, directory_ / "printed");
  if (!packages.empty()) {
    std::vector<std::string> words{(place / "bin" / "pip").string(), "install", "--quiet"};
    words.insert(words.end(), packages.begin(), packages.end());
    run<failed_install>(words, directory_ / "printed");
  }
  std::ofstream(whole) << name << '\n';
  return place;
}

std::vector<std::string> releases::command(std::size_t release) const {
  const std::string& name = names_.at(release);
  std::vector<std::string> line = line_;
  std::string place = name;
  if (!chosen_.package.empty()) {
    std::vector<std::string> packages{chosen_.package + "==" + name};
    packages.insert(packages.end(), chosen_.with.begin(), chosen_.with.end());
    place = environment(packages).string();
    const char* const path = std::getenv("PATH");
    line.insert(line.begin(), {fmt::format("PATH={}/bin:{}", place, path == nullptr ? "" : path),
                               "VIRTUAL_ENV=" + place});
  } else if (!chosen_.variable.empty()) {
    line.insert(line.begin(), chosen_.variable.substr(0, chosen_.variable.find('=') + 1) + name);
    return line;  // its {}, if any, are its own
  }
  for (std::string& word : line) replace_all(word, place_mark, place);
  return line;
}

}  // namespace layerbench::tool
