// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <fstream>
#include <ios>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/json_error.hpp>
#include <layerbench/base/plain_text.hpp>

namespace layerbench::json {

namespace detail {

LAYERBENCH_INLINE std::string token(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~' || c == '/') {
      escaped += c == '~' ? "~0" : "~1";
    } else {
      escaped += c;
    }
  }
  return without_controls(escaped, /*one_line=*/true);
}

/// Reports a duplicate key with its place. The parsed value would keep only one of the two.
class duplicate_guard {
 public:
  explicit duplicate_guard(std::string file) : file_(std::move(file)) {}

  bool operator()(int /*depth*/, nlohmann::json::parse_event_t event, value& parsed) {
    using enum nlohmann::json::parse_event_t;
    switch (event) {
      case object_start:
      case array_start:
        if (!open_.empty() && open_.back().is_array) ++open_.back().items;
        open_.push_back({.is_array = event == array_start, .keys = {}, .last_key = {}});
        break;
      case object_end:
      case array_end: open_.pop_back(); break;
      case key: add_key(parsed.get<std::string>()); break;
      case nlohmann::json::parse_event_t::value:
        if (!open_.empty() && open_.back().is_array) ++open_.back().items;
        break;
    }
    return true;
  }

 private:
  struct level {
    bool is_array;
    std::set<std::string> keys;
    std::string last_key;
    std::size_t items = 0;
  };

  void add_key(const std::string& name) {
    open_.back().last_key = name;
    if (open_.back().keys.insert(name).second) return;
    std::string pointer;
    for (const level& outer : open_) {
      pointer += '/' + (outer.is_array ? std::to_string(outer.items - 1) : token(outer.last_key));
    }
    throw bad_input(file_, pointer, "duplicate key; keep one of the two");
  }

  std::string file_;
  std::vector<level> open_;
};

}  // namespace detail

LAYERBENCH_INLINE std::string read_text(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    throw bad_input(path.string(), "", "is a directory; name a file in it");
  }
  std::ifstream stream(input_path(path), std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> block{};
  while (stream.read(block.data(), block.size()) || stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most_file_bytes) {
      throw bad_input(path.string(), "",
                      fmt::format("has more than {} MiB, too many for a file of this kind",
                                  most_file_bytes >> 20));
    }
  }
  if (!stream.eof()) {
    throw bad_input(path.string(), "", "cannot be read; check that it exists and its permissions");
  }
  return text;
}

LAYERBENCH_INLINE value parse_text(const std::string& text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw bad_input(file, "", "is empty; expected a JSON object");
  }
  try {
    return value::parse(text, detail::duplicate_guard(file));
  } catch (
      const nlohmann::json::exception& e) {  // a syntax error, or a number too large for a double
    throw bad_input(file, "", "not valid JSON: " + plain_words(e));
  }
}

LAYERBENCH_INLINE cursor cursor::operator[](std::string_view key) const {
  return {at_->at(std::string(key)), file_, pointer_ + '/' + detail::token(key)};
}

LAYERBENCH_INLINE cursor cursor::operator[](std::size_t index) const {
  return {at_->at(index), file_, pointer_ + '/' + std::to_string(index)};
}

LAYERBENCH_INLINE void cursor::fail(std::string_view message) const {
  throw bad_input(file_, pointer_.empty() ? "/" : pointer_, message);
}

LAYERBENCH_INLINE void cursor::require_object() const {
  if (!at_->is_object()) fail(fmt::format("expected an object, found {}", at_->type_name()));
}

LAYERBENCH_INLINE void cursor::require_array() const {
  if (!at_->is_array()) fail(fmt::format("expected a list, found {}", at_->type_name()));
}

LAYERBENCH_INLINE bool cursor::boolean() const {
  if (!at_->is_boolean()) fail("expected true or false");
  return at_->get<bool>();
}

LAYERBENCH_INLINE std::vector<std::string> cursor::texts() const {
  require_array();
  std::vector<std::string> all;
  for (std::size_t i = 0; i < at_->size(); ++i) all.push_back((*this)[i].text());
  return all;
}

LAYERBENCH_INLINE std::size_t cursor::index_in(std::span<const std::string_view> names) const {
  const std::string given = text();
  const auto known = std::ranges::find(names, given);
  if (known == names.end()) {
    fail(fmt::format("'{}' is not one of: {}", given, fmt::join(names, " ")));
  }
  return static_cast<std::size_t>(known - names.begin());
}

LAYERBENCH_INLINE std::string cursor::text() const {
  if (!at_->is_string()) fail(fmt::format("expected a text, found {}", at_->type_name()));
  const auto text = at_->get<std::string>();
  if (without_controls(text, /*one_line=*/true) != text) {
    fail("has a control character or an end of a line; remove it");
  }
  return text;
}

LAYERBENCH_INLINE double cursor::number() const {
  if (!at_->is_number()) fail(fmt::format("expected a number, found {}", at_->type_name()));
  return at_->get<double>();
}

LAYERBENCH_INLINE void cursor::require_keys(const std::vector<std::string_view>& required) const {
  require_object();
  for (const std::string_view key : required) {
    if (!has(key)) fail(fmt::format("the key '{}' is missing", key));
  }
}

LAYERBENCH_INLINE void cursor::check_keys(const std::vector<std::string_view>& known,
                                          const std::vector<std::string_view>& required) const {
  require_object();
  for (const auto& member : at_->items()) {
    if (std::ranges::find(known, member.key()) == known.end()) {
      (*this)[member.key()].fail(fmt::format("unknown key; known here: {}", fmt::join(known, " ")));
    }
  }
  require_keys(required);
}

}  // namespace layerbench::json
