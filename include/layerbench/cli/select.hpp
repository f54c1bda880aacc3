// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run {

/// Those of `names` that `filter` selects, as Google Benchmark reads it (a regular expression found
/// anywhere; '-' in front selects the others). Throws usage_error for a bad expression.
[[nodiscard]] inline std::set<std::string> selected_names(const std::vector<std::string>& names,
                                                          const std::string& filter) {
  benchmark::ClearRegisteredBenchmarks();
  for (const std::string& name : names) {
    benchmark::RegisterBenchmark(name.c_str(), [](benchmark::State& /*state*/) {});
  }
  std::ostringstream listed;
  std::ostringstream complaints;
  benchmark::ConsoleReporter listing;
  listing.SetOutputStream(&listed);
  listing.SetErrorStream(&complaints);
  benchmark::RunSpecifiedBenchmarks(&listing, filter.empty() ? "." : filter);
  if (complaints.str().find("Could not compile") != std::string::npos) {
    throw usage_error("--benchmark_filter=" + filter + ": not a regular expression");
  }
  std::set<std::string> selected;
  std::istringstream lines(listed.str());
  for (std::string line; std::getline(lines, line);) selected.insert(line);
  return selected;
}

/// What decides for make_suite which cases are planned; empty where `filter` selects all.
[[nodiscard]] inline name_filter name_filter_of(const std::string& filter) {
  if (filter.empty()) return {};
  return [filter](const std::vector<std::string>& names) {
    return !selected_names(names, filter).empty();
  };
}

/// The names of rows.
[[nodiscard]] inline std::vector<std::string> names_of(
    const std::vector<std::unique_ptr<benchmark_row>>& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row->name().text());
  return names;
}

/// The rows that `filter` selects, in their order; measuring them is left to the runner. Throws
/// usage_error for a bad expression.
[[nodiscard]] inline std::vector<benchmark_row*> select(
    const std::vector<std::unique_ptr<benchmark_row>>& rows, const std::string& filter) {
  const std::set<std::string> chosen = selected_names(names_of(rows), filter);
  std::vector<benchmark_row*> selected;
  for (const auto& row : rows) {
    if (chosen.contains(row->name().text())) selected.push_back(row.get());
  }
  return selected;
}

/// What to say where `filter` selects none of these names: some of them.
[[nodiscard]] inline nothing_matched no_match(const std::vector<std::string>& names,
                                              const std::string& filter) {
  std::string what = "--benchmark_filter=" + filter + ": nothing matches; there are:";
  constexpr std::size_t most_listed = 20;
  for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i) what += "\n  " + names[i];
  if (names.size() > most_listed) {
    what += fmt::format("\n  and {} more (--benchmark_list_tests)", names.size() - most_listed);
  }
  return nothing_matched(what);
}

/// Sets Google Benchmark's global state so that it lists and does nothing else. Our options read
/// its environment variables instead: BENCHMARK_OUT would truncate a file.
inline void initialize_google_benchmark(char* program) {
  std::array<std::string, 7> flags{
      "--benchmark_list_tests=true", "--benchmark_out=",          "--benchmark_format=console",
      "--benchmark_filter=.",        "--benchmark_repetitions=1", "--benchmark_min_time=0",
      "--benchmark_color=false"};
  // Google Benchmark keeps the pointer, and writes the name into each result file.
  static std::string name;
  name = program;
  std::vector<char*> arguments{name.data()};
  for (std::string& flag : flags) arguments.push_back(flag.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
}

}  // namespace layerbench::run
