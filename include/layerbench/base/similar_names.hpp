// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace layerbench
