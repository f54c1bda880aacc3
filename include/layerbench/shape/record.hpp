// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <layerbench/base/decimal.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/shape/dims.hpp>

/// A record is a struct that lists its fields once, as `static constexpr std::tuple fields`. Its
/// canonical key, its JSON form and its schema (shape/record_json.hpp) follow from that list.
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

/// A field that may be left out. It then has the value of a default-constructed record.
template <class Record, class Value>
[[nodiscard]] constexpr field<Record, Value> optional(std::string_view name, Value Record::* member,
                                                      std::string_view help) {
  return {name, member, help, false};
}

/// The names of an enum's values, in order: an array, which `list_names(Enum)` beside the enum
/// returns, or a specialisation.
template <class Enum>
inline constexpr std::nullptr_t enum_names = nullptr;
template <class Enum>
  requires requires { list_names(Enum{}); }
inline constexpr auto enum_names<Enum> = list_names(Enum{});

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

/// Thrown by a record's `validate()`. The loader of the file adds file and place.
struct invalid_field : error {
  invalid_field(std::string_view field_name, const std::string& message)
      : error('\'' + std::string(field_name) + "' " + message, exit_code::bad_input),
        field(field_name) {}
  std::string field;
};

/// The value of a named enum without its type.
struct named_value {
  std::size_t index;
  std::span<const std::string_view> names;  ///< of all values of the enum

  [[nodiscard]] std::string_view name() const { return names[index]; }
};

/// A list of values of a named enum without its type.
struct named_values {
  std::vector<std::size_t> indices;
  std::span<const std::string_view> names;  ///< of all values of the enum
};

/// The value of a field. These are the types that a field may have.
using field_value = std::variant<std::int64_t, bool, double, std::string, pair, pads, dims, margins,
                                 position, named_value, named_values>;

/// One field of a record without the record's type: what JSON readers and writers work on.
struct record_field {
  std::string_view name;
  std::string_view help;
  bool required;
  bool is_default;  ///< has the value of a default-constructed record
  field_value value;
};

using record_fields = std::vector<record_field>;

/// The field of that name; null if there is none. Valid as long as `all`.
[[nodiscard]] inline const record_field* find_field(const record_fields& all,
                                                    std::string_view name) {
  const auto found = std::ranges::find(all, name, &record_field::name);
  return found == all.end() ? nullptr : &*found;
}

/// Calls `visit(field)` for each field of Record, in order.
template <class Record, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, Record::fields);
}

namespace detail {

template <class T>
inline constexpr bool is_enum_list = false;
template <named_enum Enum>
inline constexpr bool is_enum_list<std::vector<Enum>> = true;

template <class T>
[[nodiscard]] field_value value_of(const T& member) {
  if constexpr (named_enum<T>) {
    return named_value{static_cast<std::size_t>(member), enum_names<T>};
  } else if constexpr (is_enum_list<T>) {
    named_values list{{}, enum_names<typename T::value_type>};
    for (const auto value : member) list.indices.push_back(static_cast<std::size_t>(value));
    return list;
  } else {
    return field_value(std::in_place_type<T>, member);
  }
}

template <class T>
void assign(T& member, const field_value& value) {
  if constexpr (named_enum<T>) {
    member = static_cast<T>(std::get<named_value>(value).index);
  } else if constexpr (is_enum_list<T>) {
    member.clear();
    for (const std::size_t index : std::get<named_values>(value).indices) {
      member.push_back(static_cast<typename T::value_type>(index));
    }
  } else {
    member = std::get<T>(value);
  }
}

[[nodiscard]] inline std::string key_text(std::int64_t value) { return std::to_string(value); }
[[nodiscard]] inline std::string key_text(bool value) { return value ? "1" : "0"; }
[[nodiscard]] inline std::string key_text(double value) { return shortest_decimal(value); }
[[nodiscard]] inline std::string key_text(const std::string& value) { return value; }
[[nodiscard]] inline std::string key_text(named_value value) { return std::string(value.name()); }
[[nodiscard]] inline std::string key_text(const named_values& list) {
  std::string text;
  for (const std::size_t index : list.indices) {
    if (!text.empty()) text += '+';
    text += list.names[index];
  }
  return text;
}
[[nodiscard]] inline std::string key_text(const dims& sizes) { return joined(sizes, "x"); }
[[nodiscard]] inline std::string key_text(const margins& all) { return key_text(all.sizes); }
[[nodiscard]] inline std::string key_text(position at) { return key_text(at.value); }
[[nodiscard]] inline std::string key_text(pair value) {
  return value.v == value.h ? key_text(value.v) : key_text(dims{value.v, value.h});
}
[[nodiscard]] inline std::string key_text(pads p) {
  if (p.top != p.bottom || p.left != p.right) {
    return key_text(dims{p.top, p.bottom, p.left, p.right});
  }
  return key_text(pair{p.top, p.left});
}

}  // namespace detail

/// The fields of `record`, in order.
template <class Record>
[[nodiscard]] record_fields fields_of(const Record& record) {
  const Record defaults{};
  record_fields all;
  all.reserve(std::tuple_size_v<std::remove_cvref_t<decltype(Record::fields)>>);
  for_each_field<Record>([&](const auto& f) {
    const auto& value = record.*f.member;
    all.push_back(
        {f.name, f.help, f.required, value == defaults.*f.member, detail::value_of(value)});
  });
  return all;
}

/// The inverse of fields_of, validated. Throws invalid_field, or std::overflow_error.
template <class Record>
[[nodiscard]] Record record_of(const record_fields& all) {
  Record record{};
  auto next = all.begin();
  for_each_field<Record>([&](const auto& f) { detail::assign(record.*f.member, next++->value); });
  record.validate();
  return record;
}

/// The canonical key: `name:value` of each required field and of each other field that differs
/// from its default, joined by commas, in field order. Equal records have equal keys.
[[nodiscard]] inline std::string key(const record_fields& all) {
  std::string text;
  for (const record_field& field : all) {
    if (!field.required && field.is_default) continue;
    if (!text.empty()) text += ',';
    text += field.name;
    text += ':';
    text += std::visit([](const auto& value) { return detail::key_text(value); }, field.value);
  }
  return text;
}
template <class Record>
[[nodiscard]] std::string key(const Record& record) {
  return key(fields_of(record));
}

}  // namespace layerbench
