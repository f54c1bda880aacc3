// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

/// JSON values with their places in the file, so that errors can name them.
namespace layerbench::json {

using value = nlohmann::ordered_json;

namespace detail {

/// A key as part of a JSON pointer (RFC 6901).
[[nodiscard]] std::string token(std::string_view key);

}  // namespace detail

/// The most bytes that a JSON file may have that is held in memory as a whole.
inline constexpr std::size_t most_file_bytes = std::size_t{64} << 20;

/// The whole text of `path`. Throws bad_input when it is not a readable file, or a larger one than
/// `most_file_bytes`.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// JSON of a file's text. Throws bad_input naming line and column of an error, or a duplicate key.
[[nodiscard]] value parse_text(const std::string& text, const std::string& file);

/// JSON of the file `path`.
[[nodiscard]] inline value parse_file(const std::filesystem::path& path) {
  return parse_text(read_text(path), path.string());
}

/// A value in a JSON file and its place, for errors about it.
class cursor {
 public:
  cursor(const value& at, std::string file, std::string pointer = {})
      : at_(&at), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[nodiscard]] const value& get() const { return *at_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] bool has(std::string_view key) const { return at_->contains(key); }

  [[nodiscard]] cursor operator[](std::string_view key) const;
  [[nodiscard]] cursor operator[](std::size_t index) const;

  [[noreturn]] void fail(std::string_view message) const;

  void require_object() const;
  void require_array() const;
  [[nodiscard]] bool boolean() const;
  /// A list of texts.
  [[nodiscard]] std::vector<std::string> texts() const;
  /// The position of a text among `names`, which must have it.
  [[nodiscard]] std::size_t index_in(std::span<const std::string_view> names) const;
  [[nodiscard]] std::string text() const;

  [[nodiscard]] double number() const;

  /// Throws bad_input for a missing key.
  void require_keys(const std::vector<std::string_view>& required) const;
  /// Throws bad_input for a key that is not in `known` and for a missing key of `required`.
  void check_keys(const std::vector<std::string_view>& known,
                  const std::vector<std::string_view>& required) const;

 private:
  const value* at_;
  std::string file_;
  std::string pointer_;
};

}  // namespace layerbench::json

#ifndef LAYERBENCH_COMPILED
#include <layerbench/base/json-inl.hpp>
#endif
