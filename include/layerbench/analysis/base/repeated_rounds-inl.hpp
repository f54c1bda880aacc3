// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/result/context_difference.hpp>

namespace layerbench::analysis {

namespace detail {

/// All that a file says of a timing, and the GPU, since equal ones have comparable files.
[[nodiscard]] inline std::string content(const result::measurement& row,
                                         const result::results& file) {
  std::string text = fmt::format("{} {} {}", file.context_value("gpu_uuid").value_or(""),
                                 row.name.text(), row.label.text());
  for (const auto& [name, value] : row.counters) text += fmt::format(" {}:{}", name, value);
  return text;
}

/// A timing, and the file that has it.
struct owned_row {
  std::size_t file;
  const result::measurement* row;

  /// Numbers in which different timings nearly always differ.
  [[nodiscard]] auto numbers() const {
    return std::tuple(row->seconds, row->cpu_seconds, row->round, row->calls);
  }
};

/// Adds the rows of `all` whose content an earlier one has.
inline void find_repeated(std::vector<owned_row> all, const std::vector<result::results>& files,
                          repeated_rows& found) {
  std::ranges::stable_sort(all, {}, &owned_row::numbers);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].numbers() == all[begin].numbers()) ++end;
    if (end - begin == 1) continue;
    std::map<std::string, std::size_t> first;  // by content, its file
    for (std::size_t i = begin; i < end; ++i) {
      const auto [known, is_new] =
          first.try_emplace(content(*all[i].row, files[all[i].file]), all[i].file);
      if (is_new) continue;
      found.rows.insert(all[i].row);
      ++found.counts[{all[i].file, known->second}];
    }
  }
}

}  // namespace detail

LAYERBENCH_INLINE void drop_repeated_rounds(std::vector<result::results>& files) {
  detail::repeated_rows found;
  std::vector<bool> seen(files.size(), false);
  for (std::size_t first = 0; first < files.size(); ++first) {
    std::vector<detail::owned_row> comparable;
    for (std::size_t i = first; i < files.size(); ++i) {
      if (seen[i] || !result::differing_context(files[first], files[i]).empty()) continue;
      seen[i] = true;
      for (const auto* const rows : {&files[i].rows, &files[i].chains}) {
        for (const result::measurement& row : *rows) {
          if (row.error.empty()) comparable.push_back({i, &row});
        }
      }
    }
    detail::find_repeated(std::move(comparable), files, found);
  }
  if (found.rows.empty()) return;
  for (result::results& file : files) {
    const auto is_repeated = [&](const auto& row) { return found.rows.contains(&row); };
    std::erase_if(file.rows, is_repeated);
    std::erase_if(file.chains, is_repeated);
  }
  for (const auto& [owners, count] : found.counts) {
    result::results& again = files[owners.first];
    again.notes.push_back(
        owners.first == owners.second
            ? fmt::format("{}: {} timings are in it more than once; they count once", again.file,
                          count)
            : fmt::format("{}: {} of its timings are also in {}; they count once", again.file,
                          count, files[owners.second].file));
  }
}

LAYERBENCH_INLINE std::vector<std::string> notes_of(const group& files) {
  std::vector<std::string> all;
  for (const result::results* file : files) {
    all.insert(all.end(), file->notes.begin(), file->notes.end());
  }
  return all;
}

}  // namespace layerbench::analysis
