// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

/// Text for people, on stdout and stderr.
namespace layerbench {

/// Whether a terminal may take a byte for a command; among these are tabs and ends of lines.
[[nodiscard]] inline bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);  // char has no sign on some processors
  return code < ' ' || code == 0x7f;
}

/// `text` with '?' for what a terminal may take for a command: control characters, and those of
/// ISO 6429 that UTF-8 has as two bytes. Tabs and ends of lines stay, unless it is to be
/// `one_line`.
[[nodiscard]] inline std::string without_controls(std::string_view text, bool one_line = false) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool ends_line = text[i] == '\n' || (text[i] == '\r' && next == '\n');
    if (text[i] == '\xc2' && static_cast<unsigned char>(next) - 0x80U < 0x20U) {
      result += '?';
      ++i;
    } else if (!one_line && (ends_line || text[i] == '\t')) {
      result += text[i];
    } else {
      result += is_control(text[i]) ? '?' : text[i];
    }
  }
  return result;
}

/// Writes text without control characters to stdout or stderr. A failure shows when the stream
/// is closed: a message that nobody can read is no reason to end.
inline void print_plain(std::FILE* to, std::string_view text) {
  const std::string plain = without_controls(text);
  static_cast<void>(std::fwrite(plain.data(), 1, plain.size(), to));
}

/// Says a line on stderr.
inline void print_message(std::string_view text) {
  print_plain(stderr, "layerbench: " + std::string(text) + '\n');
}

}  // namespace layerbench
