// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

/// Results of the checks of a machine.
namespace layerbench::machine {

enum class verdict { ok, note, bad };

/// One fact about the machine, whether it spoils timings, and a remedy.
struct check_result {
  std::string name;
  verdict how = verdict::ok;
  std::string what;
  std::string remedy = {};  // without the initializer g++ 12 warns where callers leave it out
};

/// "fit", or the names of the bad results.
[[nodiscard]] inline std::string summary(const std::vector<check_result>& all) {
  std::string names;
  for (const check_result& result : all) {
    if (result.how == verdict::bad) names += (names.empty() ? "" : " ") + result.name;
  }
  return names.empty() ? "fit" : names;
}

/// Text for people: one line per result, its remedy below it, and the summary at the end.
[[nodiscard]] inline std::string report(const std::vector<check_result>& all) {
  std::string text;
  for (const check_result& result : all) {
    const std::string_view how = result.how == verdict::ok     ? "ok"
                                 : result.how == verdict::note ? "note"
                                                               : "BAD";
    text += fmt::format("{:<4}  {:<10}  {}\n", how, result.name, result.what);
    if (!result.remedy.empty()) text += fmt::format("{:>18}remedy: {}\n", "", result.remedy);
  }
  const std::string bad = summary(all);
  return text + (bad == "fit" ? "\nfit to measure\n" : "\nnot fit to measure: " + bad + '\n');
}

}  // namespace layerbench::machine
