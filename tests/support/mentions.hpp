// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <cstddef>
#include <string>

#include <gmock/gmock.h>

/// What a message or a text table must name, however it is worded.
namespace layerbench::testing {

/// Whether `text` has `word` as a whole: "1" is not in "12", "1.5" or "a1", and "/layers/0" is not
/// in "/layers/0/name".
[[nodiscard]] inline bool has_word(const std::string& text, const std::string& word) {
  const bool is_path = word.find('/') != std::string::npos;
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : ' '; };
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto continues = [&](char next, char after_next) {
    return std::isalnum(static_cast<unsigned char>(next)) != 0 || next == '_' ||
           (next == '.' && is_digit(after_next)) || (is_path && (next == '/' || next == '~'));
  };
  for (std::size_t i = text.find(word); i != std::string::npos; i = text.find(word, i + 1)) {
    const std::size_t end = i + word.size();
    if (!continues(at(i - 1), at(i - 2)) && !continues(at(end), at(end + 1))) return true;
  }
  return false;
}

MATCHER_P(HasWord, word,
          (negation ? "lacks the word " : "has the word ") + ::testing::PrintToString(word)) {
  return has_word(std::string(arg), word);
}

/// Matches texts that have all these words, in any order: numbers with their units, options, files,
/// places in files, names of layers and models.
template <class... Words>
[[nodiscard]] auto mentions(const Words&... words) {
  return ::testing::AllOf(HasWord(std::string(words))...);
}

}  // namespace layerbench::testing
