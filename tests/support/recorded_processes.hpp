// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/compare/paired_ratio.hpp>
#include <layerbench/base/json.hpp>

/// Pairs of processes that were recorded on a very busy machine.
namespace layerbench::testing {

using values = std::vector<double>;

[[nodiscard]] inline analysis::compared row_of(const values& old, const values& now) {
  analysis::detail::pair_times times;
  for (std::size_t i = 0; i < old.size(); ++i) times.add(old[i], now[i]);
  return {.ratio = analysis::detail::ratio_of(times), .pairs = std::move(times.ratios)};
}

/// Microseconds of recorded processes, by process and row.
[[nodiscard]] inline const std::vector<values>& recorded() {
  static const std::vector<values> all = [] {
    std::istringstream text(
        json::read_text(LAYERBENCH_SOURCE_DIR "/tests/data/recorded_processes.csv"));
    std::vector<values> found;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with('#')) continue;
      std::ranges::replace(line, ',', ' ');
      std::istringstream numbers(line);
      values& process = found.emplace_back();
      for (double number = 0; numbers >> number;) process.push_back(number);
    }
    return found;
  }();
  return all;
}

/// Every second recorded row and the sum of all, of processes that ran one after another, from
/// `first` on. A coin says which of two is the new one, which is `slower` by that factor.
[[nodiscard]] inline std::pair<std::vector<analysis::compared>, std::vector<analysis::compared>>
replayed(std::mt19937& random, std::size_t first, std::size_t pairs, double slower = 1) {
  const std::vector<values>& from = recorded();
  std::vector<std::pair<std::size_t, std::size_t>> sides;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::size_t one = (first + 2 * i) % from.size();
    std::size_t other = (first + 2 * i + 1) % from.size();
    if (random() % 2 == 0) std::swap(one, other);
    sides.emplace_back(one, other);
  }
  const auto compared_by = [&](const std::function<double(const values&)>& seconds) {
    values old;
    values now;
    for (const auto& [before, after] : sides) {
      old.push_back(seconds(from[before]));
      now.push_back(slower * seconds(from[after]));
    }
    return row_of(old, now);
  };
  std::vector<analysis::compared> rows;
  for (std::size_t row = 0; row < from.front().size(); row += 2) {
    rows.push_back(compared_by([=](const values& process) { return process[row]; }));
  }
  return {std::move(rows), {compared_by([](const values& process) {
            double sum = 0;
            for (const double one : process) sum += one;
            return sum;
          })}};
}

}  // namespace layerbench::testing
