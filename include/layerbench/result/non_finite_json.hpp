// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>

/// JSON of programs that write numbers which JSON does not have.
namespace layerbench::result::detail {

/// The first character of a text that stands for a number which JSON does not have. The number
/// follows as it was written.
inline constexpr char no_number = '\0';

/// Whether a word outside of texts is NaN, an infinity, or a number that is too large for a double.
[[nodiscard]] inline bool is_no_number(const std::string& word) {
  const std::size_t sign = word.starts_with('-') || word.starts_with('+') ? 1 : 0;
  if (word.size() <= sign) return false;
  if (std::isdigit(static_cast<unsigned char>(word[sign])) != 0) {
    constexpr std::size_t longest = 300;  // a double may have as many digits
    const std::size_t exponent = word.find_first_of("eE");
    const bool may_be_large =
        exponent == std::string::npos ? word.size() > longest : word.size() - exponent > 3;
    return may_be_large && std::isinf(std::strtod(word.c_str(), nullptr));
  }
  std::string name = word.substr(sign);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "nan" || name == "inf" || name == "infinity";
}

/// A stream's JSON in which such numbers are texts that begin with `no_number`. Google Benchmark
/// writes them as counters, and one of them must not make the whole file unreadable.
class non_finite_json : public std::streambuf {
 public:
  explicit non_finite_json(std::istream& from) : from_(from) {}

 protected:
  int_type underflow() override {
    while (true) {
      from_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
      const auto length = static_cast<std::size_t>(from_.gcount());
      out_.clear();
      take({block_.data(), length});
      if (length == 0) end_word();
      if (!out_.empty()) break;
      if (length == 0) return traits_type::eof();
    }
    setg(out_.data(), out_.data(), out_.data() + out_.size());
    return traits_type::to_int_type(out_.front());
  }

 private:
  static bool is_of_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
  }

  void take(std::string_view text) {
    while (!text.empty()) {
      const std::size_t length = in_text_ ? take_text(text) : take_other(text);
      text.remove_prefix(length);
    }
  }

  /// Takes the rest of a text, up to its quotation mark or next escape. Returns the length.
  std::size_t take_text(std::string_view text) {
    if (escaped_) {
      escaped_ = false;
      out_ += text.front();
      return 1;
    }
    const std::size_t end = text.find_first_of("\"\\");
    if (end == std::string_view::npos) {
      out_ += text;
      return text.size();
    }
    out_ += text.substr(0, end + 1);
    in_text_ = text[end] != '"';
    escaped_ = in_text_;
    return end + 1;
  }

  /// Takes a word, or what is between two of them. Returns the length.
  std::size_t take_other(std::string_view text) {
    const auto word_end = std::ranges::find_if_not(text, is_of_word);
    const auto length = static_cast<std::size_t>(word_end - text.begin());
    word_ += text.substr(0, length);
    if (length == text.size()) return length;  // a word may go on in the next block
    end_word();
    in_text_ = text[length] == '"';
    out_ += text[length];
    return length + 1;
  }

  void end_word() {
    const bool replaced = is_no_number(word_);
    if (replaced) out_ += "\"\\u0000";
    out_ += word_;
    if (replaced) out_ += '"';
    word_.clear();
  }

  std::istream& from_;
  std::array<char, 1 << 16> block_{};
  std::string out_;
  std::string word_;  ///< a number or name whose end was not seen yet
  bool in_text_ = false;
  bool escaped_ = false;
};

}  // namespace layerbench::result::detail
