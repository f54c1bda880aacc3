// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/shape/dims.hpp>

/// A record is a struct that lists its fields once, as `static constexpr std::tuple fields`. From
/// that list come its JSON form (shape/record_json.hpp), its schema and its canonical key.
namespace layerbench {

template <class Record, class Value>
struct field {
  std::string_view name;
  Value Record::* member;
  std::string_view help;
  bool required;
};

template <class Record, class Value>
[[nodiscard]] constexpr field<Record, Value> required(std::string_view name, Value Record::* member,
                                                      std::string_view help) {
  return {name, member, help, true};
}

/// A field that may be left out: it then has the value of a default-constructed record.
template <class Record, class Value>
[[nodiscard]] constexpr field<Record, Value> optional(std::string_view name, Value Record::* member,
                                                      std::string_view help) {
  return {name, member, help, false};
}

/// Enums whose values have names list them, in order, by specialising this.
template <class Enum>
inline constexpr std::nullptr_t enum_names = nullptr;

template <class T>
concept named_enum = std::is_enum_v<T> && requires { enum_names<T>.size(); };

template <named_enum Enum>
[[nodiscard]] constexpr std::string_view name(Enum value) {
  return enum_names<Enum>.at(static_cast<std::size_t>(value));
}

/// The value called `text`, or nothing.
template <named_enum Enum>
[[nodiscard]] constexpr std::optional<Enum> from_name(std::string_view text) {
  const auto found = std::ranges::find(enum_names<Enum>, text);
  if (found == enum_names<Enum>.end()) return std::nullopt;
  return static_cast<Enum>(found - enum_names<Enum>.begin());
}

/// Thrown by a record's `validate()`; the loader adds file and place.
struct invalid_field : error {
  invalid_field(std::string_view field_name, const std::string& message)
      : error(fmt::format("'{}' {}", field_name, message), exit_code::bad_input),
        field(field_name) {}
  std::string field;
};

/// Calls `visit(field)` for each field of Record, in order.
template <class Record, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  std::apply([&](const auto&... item) { (visit(item), ...); }, Record::fields);
}

namespace detail {

[[nodiscard]] inline std::string key_text(std::int64_t value) { return std::to_string(value); }
[[nodiscard]] inline std::string key_text(bool value) { return value ? "1" : "0"; }
[[nodiscard]] inline std::string key_text(double value) { return fmt::format("{}", value); }
[[nodiscard]] inline std::string key_text(const std::string& value) { return value; }
[[nodiscard]] inline std::string key_text(pair value) {
  return value.v == value.h ? key_text(value.v) : fmt::format("{}x{}", value.v, value.h);
}
[[nodiscard]] inline std::string key_text(pads p) {
  if (p.top != p.bottom || p.left != p.right) {
    return fmt::format("{}x{}x{}x{}", p.top, p.bottom, p.left, p.right);
  }
  return key_text(pair{p.top, p.left});
}
[[nodiscard]] inline std::string key_text(const dims& value) {
  return fmt::format("{}", fmt::join(value, "x"));
}
template <named_enum Enum>
[[nodiscard]] std::string key_text(Enum value) {
  return std::string(name(value));
}

}  // namespace detail

/// The canonical key: `name:value` of each required field and of each other field that differs
/// from its default, joined by commas, in field order. Equal records have equal keys.
template <class Record>
[[nodiscard]] std::string key(const Record& record) {
  const Record defaults{};
  std::string text;
  for_each_field<Record>([&](const auto& f) {
    const auto& value = record.*f.member;
    if (!f.required && value == defaults.*f.member) return;
    if (!text.empty()) text += ',';
    text += f.name;
    text += ':';
    text += detail::key_text(value);
  });
  return text;
}

}  // namespace layerbench
