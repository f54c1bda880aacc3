// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace layerbench {

/// `text` as part of a file's name: of lower-case letters, digits and single hyphens, at most 60,
/// never empty.
[[nodiscard]] inline std::string slug(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result;
  for (const char character : text) {
    const auto c = static_cast<unsigned char>(character);
    const bool plain = c < 0x80U && std::isalnum(c) != 0;
    if (result.size() == longest) break;
    if (plain) result += static_cast<char>(std::tolower(c));
    if (!plain && !result.empty() && result.back() != '-') result += '-';
  }
  while (result.ends_with('-')) result.pop_back();
  return result.empty() ? "unnamed" : result;
}

}  // namespace layerbench
