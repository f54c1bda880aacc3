// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/parse_number.hpp>

/// Whole numbers as options have them: "16", or "1..256" for all from 1 to 256.
namespace layerbench {

/// The most numbers that an option takes.
inline constexpr std::int64_t most_numbers = 100'000;

/// The first and the last number of a text; nothing if it is neither a number nor a range.
[[nodiscard]] inline std::optional<std::pair<std::int64_t, std::int64_t>> range_in(
    std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto first = parse_number<std::int64_t>(text.substr(0, dots));
  const auto last = dots == text.npos ? first : parse_number<std::int64_t>(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

/// What is wrong with a text as one or more numbers from `least` to `most`; empty if nothing is.
[[nodiscard]] inline std::string check_range(const std::string& text, std::int64_t least,
                                             std::int64_t most) {
  const auto range = range_in(text);
  if (!range || range->first < least || range->second > most || range->first > range->second) {
    return fmt::format("'{}' is not a whole number from {} to {}, nor a range such as 1..16", text,
                       least, most);
  }
  if (range->second - range->first < most_numbers) return {};
  return fmt::format("'{}' has more than {} numbers", text, most_numbers);
}

/// All numbers of checked texts, each once, in their order. Throws usage_error where they are more
/// than `most_numbers`.
[[nodiscard]] inline std::vector<std::int64_t> numbers_in(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> numbers;
  std::set<std::int64_t> known;
  for (const std::string& text : texts) {
    const auto [first, last] = range_in(text).value();
    for (std::int64_t number = first; number <= last; ++number) {
      if (known.insert(number).second) numbers.push_back(number);
    }
    if (std::ssize(numbers) <= most_numbers) continue;
    throw usage_error(
        fmt::format("'{}' is too much: an option takes at most {} numbers", text, most_numbers));
  }
  return numbers;
}

}  // namespace layerbench
