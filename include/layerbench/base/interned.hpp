// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

namespace layerbench {

/// A text that is kept once, however many have it, until the program ends: it takes a pointer. For
/// one thread at a time.
class interned {
 public:
  interned() : text_(&none()) {}
  template <std::convertible_to<std::string_view> Text>
  interned(const Text& text) : text_(&kept(text)) {}

  operator const std::string&() const { return *text_; }
  [[nodiscard]] const std::string& text() const { return *text_; }

  friend bool operator==(const interned&, const interned&) = default;
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const interned& kept, const Text& text) {
    return *kept.text_ == std::string_view(text);
  }

 private:
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  static const std::string& kept(std::string_view text) {
    static std::unordered_set<std::string, hash, std::equal_to<>> all;
    const auto found = all.find(text);
    return found != all.end() ? *found : *all.emplace(text).first;
  }

  static const std::string& none() {
    static const std::string& empty = kept("");
    return empty;
  }

  const std::string* text_;
};

}  // namespace layerbench

template <>
struct fmt::formatter<layerbench::interned> : fmt::formatter<fmt::string_view> {
  auto format(const layerbench::interned& of, fmt::format_context& context) const {
    return fmt::formatter<fmt::string_view>::format(of.text(), context);
  }
};
