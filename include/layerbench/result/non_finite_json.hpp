// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// A stream's JSON in which such numbers are texts that begin with `no_number`. Google Benchmark
/// writes them as counters, and one of them must not make the whole file unreadable.
class non_finite_json : public std::streambuf {
 public:
  explicit non_finite_json(std::istream& from) : from_(from) {}

 protected:
  int_type underflow() override;

 private:
  static bool is_of_word(char c);

  void take(std::string_view text);

  /// Takes the rest of a text, up to its quotation mark or next escape. Returns the length.
  std::size_t take_text(std::string_view text);

  /// Takes a word, or what is between two of them. Returns the length.
  std::size_t take_other(std::string_view text);

  void end_word();

  std::istream& from_;
  std::array<char, 1 << 16> block_{};
  std::string out_;
  std::string word_;  ///< a number or name whose end was not seen yet
  bool in_text_ = false;
  bool escaped_ = false;
};

}  // namespace layerbench::result::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/non_finite_json-inl.hpp>
#endif
