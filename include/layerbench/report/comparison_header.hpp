// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/compare/comparison.hpp>

/// What is compared with what.
namespace layerbench::report {

/// What a reader of a comparison must know to judge it; one sentence each.
[[nodiscard]] inline std::vector<std::string> notes(const analysis::comparison& all) {
  std::vector<std::string> words;
  if (!all.difference.forced.empty()) {
    words.push_back(fmt::format("forced: what is compared also differs in {}",
                                fmt::join(all.difference.forced, " ")));
  }
  for (const auto& [side, share] :
       {std::pair("old", all.old_disturbed), std::pair("new", all.new_disturbed)}) {
    if (share <= result::much_disturbed) continue;
    words.push_back(
        fmt::format("{}: something else used the processors during {:.0f} % of the timings; "
                    "measure again when the machine is idle (--check-machine)",
                    side, 100 * share));
  }
  if (!all.has_runs()) {
    words.emplace_back(
        "one run a side: differences between runs, which are larger than those between rounds, "
        "cannot be seen; measure old and new in turn, several times, and give all files");
  }
  return words;
}

namespace detail {

/// "loaded by old: onednn_version 3.2.0, ..."; nothing where there are no fields.
[[nodiscard]] inline std::string loaded_line(std::string_view by, const analysis::facts& fields) {
  std::vector<std::string> words;
  for (const auto& [field, value] : fields) words.push_back(fmt::format("{} {}", field, value));
  return words.empty() ? "" : fmt::format("loaded by {}: {}\n", by, fmt::join(words, ", "));
}

/// The program and libraries that each side really ran, said once where both ran the same.
[[nodiscard]] inline std::string loaded_text(const analysis::comparison& all) {
  analysis::facts both;
  analysis::facts old = all.old_loaded;
  analysis::facts now = all.new_loaded;
  for (const auto& [field, value] : all.old_loaded) {
    const auto same = now.find(field);
    if (same == now.end() || same->second != value) continue;
    both.insert(*same);
    old.erase(field);
    now.erase(same);
  }
  return loaded_line("both", both) + loaded_line("old", old) + loaded_line("new", now);
}

}  // namespace detail

/// "a.json, b.json against c.json": new against old.
[[nodiscard]] inline std::string comparison_title(const analysis::comparison& all) {
  return fmt::format("{} against {}", fmt::join(all.new_files, ", "),
                     fmt::join(all.old_files, ", "));
}

/// The files of both sides, what they loaded, and in what they differ.
[[nodiscard]] inline std::string comparison_header(const analysis::comparison& all) {
  const analysis::difference& how = all.difference;
  std::string out = fmt::format("old: {}\nnew: {}\n", fmt::join(all.old_files, ", "),
                                fmt::join(all.new_files, ", ")) +
                    detail::loaded_text(all);
  if (all.paired) {
    out += fmt::format("{} pairs of runs, measured side by side: ratios are those of pairs\n",
                       all.old_files.size());
  }
  if (how.compared_dimension) {
    out +=
        fmt::format("across {}{}; differing: {}\n", name(*how.compared_dimension),
                    how.inferred ? ", as the files differ in nothing else" : "",
                    how.fields.empty() ? "nothing" : fmt::format("{}", fmt::join(how.fields, " ")));
  }
  for (const std::string& note : notes(all)) out += "note: " + note + '\n';
  return out + '\n';
}

}  // namespace layerbench::report
