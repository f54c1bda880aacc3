// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

/// What was found of a machine, and whether it is fit to measure on.
namespace layerbench::machine {

enum class verdict { ok, note, bad };

/// A fact, what it means for timings, and what to do about it.
struct finding {
  std::string name;
  verdict how = verdict::ok;
  std::string what;
  std::string remedy = {};  // else g++ 12 warns where it is left out
};

/// "fit", or the names of what is bad.
[[nodiscard]] inline std::string short_form(const std::vector<finding>& all) {
  std::string names;
  for (const finding& each : all) {
    if (each.how == verdict::bad) names += (names.empty() ? "" : " ") + each.name;
  }
  return names.empty() ? "fit" : names;
}

/// The findings for people, one a line, a remedy below where there is one; the verdict at the end.
[[nodiscard]] inline std::string report(const std::vector<finding>& all) {
  std::string text;
  for (const finding& each : all) {
    const std::string_view how = each.how == verdict::ok     ? "ok"
                                 : each.how == verdict::note ? "note"
                                                             : "BAD";
    text += fmt::format("{:<4}  {:<10}  {}\n", how, each.name, each.what);
    if (!each.remedy.empty()) text += fmt::format("{:>18}remedy: {}\n", "", each.remedy);
  }
  const std::string bad = short_form(all);
  return text + (bad == "fit" ? "\nfit to measure\n" : "\nnot fit to measure: " + bad + '\n');
}

}  // namespace layerbench::machine
