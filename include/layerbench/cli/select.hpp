// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/session/benchmark_case.hpp>

namespace layerbench::run {

/// Registers every fixture with Google Benchmark, under its plain name, so that it selects among
/// them; measuring is left to the scheduler.
inline void register_all(const std::vector<std::unique_ptr<benchmark_case>>& cases) {
  for (const auto& item : cases) {
    benchmark::RegisterBenchmark(item->name().text().c_str(), [](benchmark::State& /*state*/) {});
  }
}

/// The registered fixtures that `filter` selects, as Google Benchmark reads it (a regular
/// expression found anywhere; '-' in front selects the others). Throws usage_error for a bad
/// expression and nothing_matched, listing what exists, when none is left.
[[nodiscard]] inline std::vector<benchmark_case*> select(
    const std::vector<std::unique_ptr<benchmark_case>>& cases, const std::string& filter) {
  std::ostringstream names;
  std::ostringstream complaints;
  benchmark::ConsoleReporter listing;
  listing.SetOutputStream(&names);
  listing.SetErrorStream(&complaints);
  benchmark::RunSpecifiedBenchmarks(&listing, filter.empty() ? "." : filter);
  if (complaints.str().find("Could not compile") != std::string::npos) {
    throw usage_error("--benchmark_filter=" + filter + ": not a regular expression");
  }
  std::set<std::string> chosen;
  std::istringstream lines(names.str());
  for (std::string line; std::getline(lines, line);) chosen.insert(line);
  std::vector<benchmark_case*> selected;
  for (const auto& item : cases) {
    if (chosen.contains(item->name().text())) selected.push_back(item.get());
  }
  if (!selected.empty()) return selected;
  std::string what = "--benchmark_filter=" + filter + ": nothing matches; there are:";
  constexpr std::size_t most_listed = 20;
  for (std::size_t i = 0; i < std::min(cases.size(), most_listed); ++i) {
    what += "\n  " + cases[i]->name().text();
  }
  if (cases.size() > most_listed) {
    what += fmt::format("\n  and {} more (--benchmark_list_tests)", cases.size() - most_listed);
  }
  throw nothing_matched(what);
}

/// Google Benchmark's own state, set so that it lists and does nothing else: its environment
/// variables (BENCHMARK_OUT would truncate a file) are read by our options instead.
inline void initialize_google_benchmark(char* program) {
  std::array<std::string, 7> flags{
      "--benchmark_list_tests=true", "--benchmark_out=",          "--benchmark_format=console",
      "--benchmark_filter=.",        "--benchmark_repetitions=1", "--benchmark_min_time=0",
      "--benchmark_color=false"};
  std::vector<char*> arguments{program};
  for (std::string& flag : flags) arguments.push_back(flag.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
}

}  // namespace layerbench::run
