// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/shape/json.hpp>
#include <layerbench/shape/record.hpp>

/// The JSON form of records, and its schema.
namespace layerbench::json {

/// Values of a shape file's named parameters, such as `batch`.
using parameters = std::map<std::string, std::int64_t, std::less<>>;

/// A size: a count, the name of a parameter, or a list of sizes (their product), in
/// [least, max_size].
[[nodiscard]] inline std::int64_t read_size(const cursor& at, const parameters& named,
                                            std::int64_t least = 1) {
  const value& v = at.get();
  std::int64_t size = 0;
  if (v.is_string()) {
    const auto found = named.find(v.get<std::string>());
    if (found == named.end()) {
      at.fail(fmt::format("'{}' is not in the file's \"parameters\"", v.get<std::string>()));
    }
    size = found->second;
  } else if (v.is_array() && !v.empty()) {
    size = 1;
    for (std::size_t i = 0; i < v.size(); ++i) {
      try {
        size = checked_multiply(size, read_size(at[i], named));
      } catch (const std::overflow_error& overflow) {
        at.fail(overflow.what());
      }
    }
  } else if (v.is_number_float()) {
    const double number = v.get<double>();
    if (number != std::floor(number) || std::abs(number) > 2.0 * max_size) {
      at.fail(fmt::format("{} is not a whole number in range", v.dump()));
    }
    size = static_cast<std::int64_t>(number);
  } else if (v.is_number_unsigned() && v.get<std::uint64_t>() > INT64_MAX) {
    size = INT64_MAX;
  } else if (v.is_number_integer()) {
    size = v.get<std::int64_t>();
  } else {
    at.fail(fmt::format("expected a count, a parameter's name or a list of them, found {}",
                        v.is_array() ? "an empty list" : v.type_name()));
  }
  if (size < least) at.fail(fmt::format("{} is too small; the least is {}", size, least));
  if (size > max_size) at.fail(fmt::format("{} is too large; the most is {}", size, max_size));
  return size;
}

namespace detail {

inline void read_value(const cursor& at, const parameters& named, std::int64_t& out) {
  out = read_size(at, named);
}
inline void read_value(const cursor& at, const parameters& /*named*/, bool& out) {
  if (!at.get().is_boolean()) at.fail("expected true or false");
  out = at.get().get<bool>();
}
inline void read_value(const cursor& at, const parameters& /*named*/, double& out) {
  if (!at.get().is_number()) at.fail("expected a number");
  out = at.get().get<double>();
}
inline void read_value(const cursor& at, const parameters& /*named*/, std::string& out) {
  out = at.text();
}
inline void read_value(const cursor& at, const parameters& named, pair& out) {
  if (at.get().is_array() && at.get().size() == 2) {
    out = {read_size(at[0], named), read_size(at[1], named)};
  } else if (at.get().is_array()) {
    at.fail("expected a number or [vertical, horizontal]");
  } else {
    const std::int64_t both = read_size(at, named);
    out = {both, both};
  }
}
inline void read_value(const cursor& at, const parameters& named, pads& out) {
  const auto side = [&](std::size_t i) { return read_size(at[i], named, 0); };
  if (!at.get().is_array()) {
    const std::int64_t all = read_size(at, named, 0);
    out = {all, all, all, all};
  } else if (at.get().size() == 2) {
    out = {side(0), side(0), side(1), side(1)};
  } else if (at.get().size() == 4) {
    out = {side(0), side(1), side(2), side(3)};
  } else {
    at.fail("expected a number, [vertical, horizontal] or [top, bottom, left, right]");
  }
}
inline void read_value(const cursor& at, const parameters& named, dims& out) {
  at.require_array();
  if (at.get().empty()) at.fail("expected at least one size");
  out.clear();
  for (std::size_t i = 0; i < at.get().size(); ++i) out.push_back(read_size(at[i], named));
}
template <named_enum Enum>
void read_value(const cursor& at, const parameters& /*named*/, Enum& out) {
  const std::string text = at.text();
  const std::optional<Enum> known = from_name<Enum>(text);
  if (!known)
    at.fail(fmt::format("'{}' is not one of: {}", text, fmt::join(enum_names<Enum>, " ")));
  out = *known;
}

inline value to_value(const pair& p) { return p.v == p.h ? value(p.v) : value::array({p.v, p.h}); }
inline value to_value(const pads& p) {
  if (p.top != p.bottom || p.left != p.right) {
    return value::array({p.top, p.bottom, p.left, p.right});
  }
  return to_value(pair{p.top, p.left});
}
template <named_enum Enum>
value to_value(Enum e) {
  return std::string(layerbench::name(e));
}
template <class T>
  requires(!named_enum<T>)
value to_value(const T& plain) {
  return plain;
}

}  // namespace detail

/// Reads and validates a record. Throws bad_input naming the file and the field.
template <class Record>
[[nodiscard]] Record read_record(const cursor& at, const parameters& named) {
  std::vector<std::string_view> known;
  std::vector<std::string_view> needed;
  for_each_field<Record>([&](const auto& f) {
    known.push_back(f.name);
    if (f.required) needed.push_back(f.name);
  });
  at.check_keys(known, needed);
  Record record{};
  for_each_field<Record>([&](const auto& f) {
    if (at.has(f.name)) detail::read_value(at[f.name], named, record.*f.member);
  });
  try {
    record.validate();
  } catch (const invalid_field& e) {
    (at.has(e.field) ? at[e.field] : at).fail(e.what());
  } catch (const std::overflow_error& overflow) {
    at.fail(overflow.what());
  }
  return record;
}

/// JSON form of a record: required fields and those that differ from their default.
template <class Record>
[[nodiscard]] value write_record(const Record& record) {
  const Record defaults{};
  value out = value::object();
  for_each_field<Record>([&](const auto& f) {
    if (!f.required && record.*f.member == defaults.*f.member) return;
    out[std::string(f.name)] = detail::to_value(record.*f.member);
  });
  return out;
}

namespace detail {

inline value reference_to(std::string_view definition) {
  return {{"$ref", "#/$defs/" + std::string(definition)}};
}
inline value schema_of(std::int64_t /*tag*/) { return reference_to("size"); }
inline value schema_of(bool /*tag*/) { return {{"type", "boolean"}}; }
inline value schema_of(double /*tag*/) { return {{"type", "number"}}; }
inline value schema_of(const std::string& /*tag*/) { return {{"type", "string"}}; }
inline value schema_of(pair /*tag*/) { return reference_to("pair"); }
inline value schema_of(pads /*tag*/) { return reference_to("pads"); }
inline value schema_of(const dims& /*tag*/) {
  return {{"type", "array"}, {"items", reference_to("size")}, {"minItems", 1}};
}
template <named_enum Enum>
value schema_of(Enum /*tag*/) {
  return {{"enum", enum_names<Enum>}};
}

}  // namespace detail

/// JSON schema of a record; sizes refer to the definitions `size`, `pair` and `pads` of the file.
template <class Record>
[[nodiscard]] value record_schema() {
  const Record defaults{};
  value properties = value::object();
  value needed = value::array();
  for_each_field<Record>([&](const auto& f) {
    value entry = detail::schema_of(defaults.*f.member);
    entry["description"] = f.help;
    if (f.required) {
      needed.push_back(f.name);
    } else {
      entry["default"] = detail::to_value(defaults.*f.member);
    }
    properties[std::string(f.name)] = entry;
  });
  return {{"type", "object"},
          {"properties", properties},
          {"required", needed},
          {"additionalProperties", false}};
}

}  // namespace layerbench::json
