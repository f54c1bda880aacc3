// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include <layerbench/base/system.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/thread_places.hpp>
#include <layerbench/topology/topology.hpp>

/// The places of threads that the user wants, or that suit the threads that the user wants. They
/// are needed before the options are read.
namespace layerbench::run::detail {

inline constexpr const char* openmp_threads_variable = "OMP_NUM_THREADS";

/// The last value of an option on the command line, else that of its variable; empty: neither.
[[nodiscard]] inline std::string given_value(char** argv, std::string_view option,
                                             const char* variable) {
  std::string value;
  for (char** word = argv + (*argv == nullptr ? 0 : 1); *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!text.starts_with(option)) continue;
    const std::string_view rest = text.substr(option.size());
    if (rest.starts_with('=')) value = rest.substr(1);
    if (!rest.empty()) continue;
    value = word[1] != nullptr && word[1][0] != '-' ? *++word : "";
  }
  const char* set = std::getenv(variable);
  return value.empty() && set != nullptr ? set : value;
}

[[nodiscard]] inline std::string given_places(char** argv) {
  return given_value(argv, "--places", "LAYERBENCH_PLACES");
}

/// The first number of OMP_NUM_THREADS, that of the outermost team, without blanks; empty where it
/// is not set.
[[nodiscard]] inline std::string openmp_threads() {
  const char* set = std::getenv(openmp_threads_variable);
  std::string text = set == nullptr ? "" : set;
  text.resize(std::min(text.find(','), text.size()));
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\t'; });
  return text;
}

/// Whether OMP_NUM_THREADS set the number of threads of these options.
[[nodiscard]] inline bool takes_threads_of_openmp(const options& o) {
  const auto from = o.variables.find("--threads");
  return from != o.variables.end() && from->second == openmp_threads_variable;
}

/// The numbers of --threads, else that of OMP_NUM_THREADS; none where there is no number in it.
[[nodiscard]] inline std::set<int> given_threads(char** argv) {
  std::string numbers = given_value(argv, "--threads", "LAYERBENCH_THREADS");
  if (numbers.empty()) numbers = openmp_threads();
  std::set<int> found;
  while (!numbers.empty()) {
    const std::size_t end = std::min(numbers.find(','), numbers.size());
    constexpr std::int64_t most = 4096;
    const auto number = machine::number_in(numbers.substr(0, end));
    if (number && *number > 0 && *number <= most) found.insert(static_cast<int>(*number));
    numbers.erase(0, end + 1);
  }
  return found;
}

/// Whether OMP_PROC_BIND does not bind threads: it is not set, or false.
[[nodiscard]] inline bool has_no_proc_bind() {
  const char* const bind = std::getenv("OMP_PROC_BIND");
  return bind == nullptr || machine::leaves_threads_free(bind);
}

/// OMP_PLACES for the threads that the command line asks for.
[[nodiscard]] inline std::string chosen_places(char** argv) {
  if (!machine::this_hwloc_machine().is_this_system()) return "cores";
  const machine::topology& all = machine::this_machine();
  return machine::openmp_places(
      all,
      machine::processors_in_order(all, machine::processors_of_this_thread(), given_threads(argv)));
}

}  // namespace layerbench::run::detail
