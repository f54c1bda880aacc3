// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/record_key.hpp>

namespace layerbench {

namespace detail {

template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number least, Number& out) {
  const auto value = parse_number<Number>(text);
  out = value.value_or(least);
  return value >= least;
}

[[nodiscard]] inline bool read_sizes(std::string_view text, std::int64_t least, dims& out) {
  const auto read = [&](std::string_view part) {
    return read_number(part, least, out.emplace_back());
  };
  out.clear();
  return std::ranges::all_of(split(text, 'x'), read);
}

// Each reads what key_text writes of a type, with the bounds of the JSON form, and returns whether
// the text is that.

[[nodiscard]] inline bool read_text(std::string_view text, std::int64_t& out) {
  return read_number<std::int64_t>(text, 1, out);
}

[[nodiscard]] inline bool read_text(std::string_view text, double& out) {
  return read_number(text, std::numeric_limits<double>::lowest(), out);
}

[[nodiscard]] inline bool read_text(std::string_view text, bool& out) {
  out = text == "1";
  return out || text == "0";
}

[[nodiscard]] inline bool read_text(std::string_view text, std::string& out) {
  out = text;
  return true;
}

[[nodiscard]] inline bool read_text(std::string_view text, named_value& out) {
  const auto found = std::ranges::find(out.names, text);
  out.index = static_cast<std::size_t>(found - out.names.begin());
  return found != out.names.end();
}

[[nodiscard]] inline bool read_text(std::string_view text, named_values& out) {
  out.indices.clear();
  for (const std::string_view part : split(text, '+')) {
    named_value one{0, out.names};
    if (!read_text(part, one)) return false;
    out.indices.push_back(one.index);
  }
  return true;
}

[[nodiscard]] inline bool read_text(std::string_view text, dims& out) {
  return read_sizes(text, 1, out);
}

[[nodiscard]] inline bool read_text(std::string_view text, margins& out) {
  return read_sizes(text, 0, out.sizes);
}

[[nodiscard]] inline bool read_text(std::string_view text, position& out) {
  return read_number<std::int64_t>(text, 0, out.value);
}

[[nodiscard]] inline bool read_text(std::string_view text, pair& out) {
  dims sizes;
  if (!read_sizes(text, 1, sizes) || sizes.size() > 2) return false;
  out = {sizes.front(), sizes.back()};
  return true;
}

[[nodiscard]] inline bool read_text(std::string_view text, pads& out) {
  dims sizes;
  if (!read_sizes(text, 0, sizes) || (sizes.size() > 2 && sizes.size() != 4)) return false;
  out = sizes.size() == 4 ? pads{sizes[0], sizes[1], sizes[2], sizes[3]}
                          : pads{sizes.front(), sizes.front(), sizes.back(), sizes.back()};
  return true;
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<record_fields> read_key(std::string_view key,
                                                        record_fields defaults) {
  for (const std::string_view part : split(key, ',')) {
    const std::size_t end = std::min(part.find(':'), part.size());
    const auto found = std::ranges::find(defaults, part.substr(0, end), &record_field::name);
    const auto read = [&](auto& value) {
      return end < part.size() && detail::read_text(part.substr(end + 1), value);
    };
    if (found == defaults.end() || !std::visit(read, found->value)) return std::nullopt;
    found->is_default = false;
  }
  const auto lacks = [](const record_field& field) { return field.required && field.is_default; };
  if (std::ranges::any_of(defaults, lacks)) return std::nullopt;
  return defaults;
}

}  // namespace layerbench
