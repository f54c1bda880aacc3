// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include <layerbench/base/error.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::json {

using value = nlohmann::ordered_json;

/// Values of a shape file's named parameters, such as `batch`.
using parameters = std::map<std::string, std::int64_t, std::less<>>;

namespace detail {

/// A key as part of a JSON pointer (RFC 6901).
[[nodiscard]] inline std::string token(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~' || c == '/') {
      escaped += c == '~' ? "~0" : "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Follows the parser's events so that a duplicate key, which the parsed value could no longer
/// show, is reported with its place.
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
    for (const level& each : open_) {
      pointer += '/' + (each.is_array ? std::to_string(each.items - 1) : token(each.last_key));
    }
    throw bad_input(file_, pointer, "duplicate key; keep one of the two");
  }

  std::string file_;
  std::vector<level> open_;
};

}  // namespace detail

/// The whole text of `path`. Throws bad_input when it is not a readable file.
[[nodiscard]] inline std::string read_text(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    throw bad_input(path.string(), "", "is a directory; name a file in it");
  }
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.good() && !stream.eof()) {
    throw bad_input(path.string(), "", "cannot be read; check that it exists and its permissions");
  }
  return text;
}

/// JSON of `path`, duplicate keys refused. Throws bad_input naming line and column of a slip.
[[nodiscard]] inline value parse_file(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw bad_input(path.string(), "", "is empty; expected a JSON object");
  }
  try {
    return value::parse(text, detail::duplicate_guard(path.string()));
  } catch (const nlohmann::json::exception& slip) {  // a slip, or a number beyond any double
    throw bad_input(path.string(), "", fmt::format("not valid JSON: {}", slip.what()));
  }
}

/// A place in a JSON file that knows how to complain about itself.
class cursor {
 public:
  cursor(const value& at, std::string file, std::string pointer = {})
      : at_(&at), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[nodiscard]] const value& get() const { return *at_; }
  [[nodiscard]] bool has(std::string_view key) const { return at_->contains(key); }

  [[nodiscard]] cursor operator[](std::string_view key) const {
    return {at_->at(std::string(key)), file_, pointer_ + '/' + detail::token(key)};
  }
  [[nodiscard]] cursor operator[](std::size_t index) const {
    return {at_->at(index), file_, pointer_ + '/' + std::to_string(index)};
  }

  [[noreturn]] void fail(std::string_view message) const {
    throw bad_input(file_, pointer_.empty() ? "/" : pointer_, message);
  }

  void require_object() const {
    if (!at_->is_object()) fail(fmt::format("expected an object, found {}", at_->type_name()));
  }
  void require_array() const {
    if (!at_->is_array()) fail(fmt::format("expected a list, found {}", at_->type_name()));
  }
  [[nodiscard]] std::string text() const {
    if (!at_->is_string()) fail(fmt::format("expected a text, found {}", at_->type_name()));
    return at_->get<std::string>();
  }

  /// Refuses keys that are not in `known`, and the lack of those in `required`.
  void check_keys(const std::vector<std::string_view>& known,
                  const std::vector<std::string_view>& required) const {
    require_object();
    for (const auto& item : at_->items()) {
      if (std::ranges::find(known, item.key()) == known.end()) {
        (*this)[item.key()].fail(fmt::format("unknown key; known here: {}", fmt::join(known, " ")));
      }
    }
    for (const std::string_view key : required) {
      if (!has(key)) fail(fmt::format("the key '{}' is missing", key));
    }
  }

 private:
  const value* at_;
  std::string file_;
  std::string pointer_;
};

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
  const auto& names = enum_names<Enum>;
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    at.fail(fmt::format("'{}' is not one of: {}", text, fmt::join(names, " ")));
  }
  out = static_cast<Enum>(found - names.begin());
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
  } catch (const invalid_field& slip) {
    (at.has(slip.field) ? at[slip.field] : at).fail(slip.what());
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
