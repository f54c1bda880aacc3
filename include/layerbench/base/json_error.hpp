// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace layerbench::json {

/// The text of an exception of the JSON library without the library's prefixes: "[json.exception.
/// parse_error.101] parse error at line 1, column 5: ..." becomes "line 1, column 5: ...". Other
/// exceptions' texts stay as they are.
[[nodiscard]] inline std::string plain_words(const std::exception& e) {
  std::string_view text = e.what();
  const auto drop = [&](std::string_view begin) {
    if (text.starts_with(begin)) text.remove_prefix(begin.size());
  };
  if (text.starts_with("[json.exception.")) {
    text.remove_prefix(text.find(']') + 1);
    drop(" ");
  }
  drop("parse error at ");
  std::string plain(text);
  constexpr std::string_view known = "syntax error while parsing ";
  const std::size_t jargon = plain.find(known);  // "... while parsing value - what is wrong"
  const std::size_t dash = plain.find(" - ", jargon);
  if (jargon != std::string::npos && dash != std::string::npos) {
    plain.erase(jargon, dash + 3 - jargon);
  }
  return plain;
}

}  // namespace layerbench::json
