// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace layerbench {

/// Removes the number with which `text` begins; nothing if it begins with none, or with one that
/// `Number` cannot hold. Neither blanks nor a plus sign are part of a number.
template <class Number>
[[nodiscard]] std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The number that the whole text is, as take_number() reads it.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  const auto value = take_number<Number>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace layerbench
