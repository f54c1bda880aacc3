// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::json {

LAYERBENCH_INLINE std::int64_t read_size(const cursor& at, const parameters& named,
                                         std::int64_t least) {
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
  out = at.boolean();
}

inline void read_value(const cursor& at, const parameters& /*named*/, double& out) {
  out = at.number();
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

inline void read_sizes(const cursor& at, const parameters& named, dims& out, std::int64_t least) {
  at.require_array();
  if (at.get().empty()) at.fail("expected at least one size");
  out.clear();
  for (std::size_t i = 0; i < at.get().size(); ++i) out.push_back(read_size(at[i], named, least));
}

inline void read_value(const cursor& at, const parameters& named, dims& out) {
  read_sizes(at, named, out, 1);
}

inline void read_value(const cursor& at, const parameters& named, margins& out) {
  read_sizes(at, named, out.sizes, 0);
}

inline void read_value(const cursor& at, const parameters& named, position& out) {
  out = {read_size(at, named, 0)};
}

inline void read_value(const cursor& at, const parameters& /*named*/, named_value& out) {
  out.index = at.index_in(out.names);
}

inline void read_value(const cursor& at, const parameters& /*named*/, named_values& out) {
  at.require_array();
  out.indices.clear();
  for (std::size_t i = 0; i < at.get().size(); ++i) {
    out.indices.push_back(at[i].index_in(out.names));
  }
}

[[nodiscard]] inline value to_value(const pair& p) {
  return p.v == p.h ? value(p.v) : value::array({p.v, p.h});
}

[[nodiscard]] inline value to_value(const pads& p) {
  if (p.top != p.bottom || p.left != p.right) {
    return value::array({p.top, p.bottom, p.left, p.right});
  }
  return to_value(pair{p.top, p.left});
}

[[nodiscard]] inline value to_value(const margins& all) { return all.sizes; }
[[nodiscard]] inline value to_value(position at) { return at.value; }
[[nodiscard]] inline value to_value(const named_value& chosen) { return chosen.name(); }

[[nodiscard]] inline value to_value(const named_values& list) {
  value names = value::array();
  for (const std::size_t index : list.indices) names.push_back(list.names[index]);
  return names;
}

template <class T>
[[nodiscard]] value to_value(const T& plain) {
  return plain;
}

}  // namespace detail

LAYERBENCH_INLINE void read_fields(const cursor& at, const parameters& named,
                                   record_fields& fields) {
  std::vector<std::string_view> known;
  std::vector<std::string_view> needed;
  for (const record_field& f : fields) {
    known.push_back(f.name);
    if (f.required) needed.push_back(f.name);
  }
  at.check_keys(known, needed);
  for (record_field& f : fields) {
    if (!at.has(f.name)) continue;
    std::visit([&](auto& held) { detail::read_value(at[f.name], named, held); }, f.value);
  }
}

LAYERBENCH_INLINE value write_value(const field_value& any_type) {
  return std::visit([](const auto& held) { return detail::to_value(held); }, any_type);
}

LAYERBENCH_INLINE value write_fields(const record_fields& fields) {
  value out = value::object();
  for (const record_field& f : fields) {
    if (f.required || !f.is_default) out[std::string(f.name)] = write_value(f.value);
  }
  return out;
}

namespace detail {

[[nodiscard]] inline value reference_to(std::string_view definition) {
  return {{"$ref", "#/$defs/" + std::string(definition)}};
}

[[nodiscard]] inline value schema_of(std::int64_t /*tag*/) { return reference_to("size"); }
[[nodiscard]] inline value schema_of(bool /*tag*/) { return {{"type", "boolean"}}; }
[[nodiscard]] inline value schema_of(double /*tag*/) { return {{"type", "number"}}; }
[[nodiscard]] inline value schema_of(const std::string& /*tag*/) { return {{"type", "string"}}; }
[[nodiscard]] inline value schema_of(pair /*tag*/) { return reference_to("pair"); }
[[nodiscard]] inline value schema_of(pads /*tag*/) { return reference_to("pads"); }
[[nodiscard]] inline value schema_of(position /*tag*/) { return reference_to("padding"); }

[[nodiscard]] inline value schema_of(const dims& /*tag*/) {
  return {{"type", "array"}, {"items", reference_to("size")}, {"minItems", 1}};
}

[[nodiscard]] inline value schema_of(const margins& /*tag*/) {
  return {{"type", "array"}, {"items", reference_to("padding")}, {"minItems", 1}};
}

[[nodiscard]] inline value schema_of(named_value choice) {
  value names = value::array();
  for (const std::string_view name : choice.names) names.push_back(name);
  return {{"enum", names}};
}

[[nodiscard]] inline value schema_of(const named_values& list) {
  return {{"type", "array"}, {"items", schema_of(named_value{0, list.names})}};
}

/// Whether a default is a size of 0 or an empty list: no file may have it, it stands for the value
/// of another field.
[[nodiscard]] inline bool follows_from_others(const field_value& of) {
  const auto* size = std::get_if<std::int64_t>(&of);
  const auto* list = std::get_if<dims>(&of);
  return (size != nullptr && *size == 0) || (list != nullptr && list->empty());
}

}  // namespace detail

LAYERBENCH_INLINE value fields_schema(const record_fields& fields) {
  value properties = value::object();
  value needed = value::array();
  for (const record_field& f : fields) {
    value entry = std::visit([](const auto& held) { return detail::schema_of(held); }, f.value);
    entry["description"] = f.help;
    if (f.required) {
      needed.push_back(f.name);
    } else if (!detail::follows_from_others(f.value)) {
      entry["default"] = write_value(f.value);
    }
    properties[std::string(f.name)] = entry;
  }
  return {{"type", "object"},
          {"properties", properties},
          {"required", needed},
          {"additionalProperties", false}};
}

}  // namespace layerbench::json
