// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace layerbench {

/// Characters to insert, remove or replace to get one text from the other (Levenshtein).
[[nodiscard]] inline std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char c : from) {
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t replaced = diagonal + (c == to[i] ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({replaced, row[i] + 1, row[i + 1] + 1});
    }
  }
  return row.back();
}

/// The names that `name` may have been meant for, the likeliest first, at most five.
[[nodiscard]] inline std::vector<std::string> similar_names(std::string_view name,
                                                            std::vector<std::string> known) {
  constexpr std::size_t most_names = 5;
  const std::size_t most_edits = std::max<std::size_t>(2, name.size() / 3);
  const auto edits = [&](const std::string& other) { return edit_distance(name, other); };
  std::erase_if(known, [&](const std::string& other) { return edits(other) > most_edits; });
  std::ranges::stable_sort(known, {}, edits);
  known.resize(std::min(known.size(), most_names));
  return known;
}

/// "; did you mean --benchmark_filter?" for an option that does not exist: the `known` ones that
/// end so ("--filter"), else those that are spelt alike; empty where there are none.
[[nodiscard]] inline std::string did_you_mean(std::string_view given,
                                              std::vector<std::string> known) {
  const std::string option(given.substr(0, given.find_first_of("= ")));
  const auto ends_so = [&](const std::string& name) {
    return option.size() > 3 && name.ends_with('_' + option.substr(2));
  };
  const auto others = std::ranges::stable_partition(known, ends_so);
  std::vector<std::string> meant(known.begin(), others.begin());
  if (meant.empty()) meant = similar_names(option, std::move(known));
  return meant.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(meant, " or "));
}

}  // namespace layerbench
