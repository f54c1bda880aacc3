// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/json.hpp>
#include <layerbench/shape/record.hpp>

/// The JSON form of records and its schema. Included only where JSON is read or written.
namespace layerbench::json {

/// Values of a shape file's named parameters, such as `batch`.
using parameters = std::map<std::string, std::int64_t, std::less<>>;

/// A size: a count, the name of a parameter, or a list of sizes (their product), in
/// [least, max_size].
[[nodiscard]] std::int64_t read_size(const cursor& at, const parameters& named,
                                     std::int64_t least = 1);

namespace detail {

[[nodiscard]] value to_value(const pair& p);
[[nodiscard]] value to_value(const pads& p);
[[nodiscard]] inline value to_value(const margins& all) { return all.sizes; }
[[nodiscard]] inline value to_value(position at) { return at.value; }
[[nodiscard]] inline value to_value(const named_value& chosen) { return chosen.name(); }
[[nodiscard]] value to_value(const named_values& list);
template <class T>
[[nodiscard]] value to_value(const T& plain) {
  return plain;
}
[[nodiscard]] value to_value(const field_value& any_type);

}  // namespace detail

/// Reads values into `fields`, those of a default record. Throws bad_input naming file and field.
void read_fields(const cursor& at, const parameters& named, record_fields& fields);

/// Returns `make()`. Throws its errors of validation as bad_input naming file and field.
template <class Make>
[[nodiscard]] auto validated(const cursor& at, const Make& make) {
  try {
    return make();
  } catch (const invalid_field& e) {
    (at.has(e.field) ? at[e.field] : at).fail(e.what());
  } catch (const std::overflow_error& overflow) {
    at.fail(overflow.what());
  }
}

/// Reads and validates a record. Throws bad_input naming the file and the field.
template <class Record>
[[nodiscard]] Record read_record(const cursor& at, const parameters& named) {
  record_fields fields = fields_of(Record{});
  read_fields(at, named, fields);
  return validated(at, [&] { return record_of<Record>(fields); });
}

/// JSON form of a field.
[[nodiscard]] value write_value(const field_value& any_type);

/// JSON form of a record: required fields and those that differ from their default.
[[nodiscard]] value write_fields(const record_fields& fields);
template <class Record>
[[nodiscard]] value write_record(const Record& record) {
  return write_fields(fields_of(record));
}

namespace detail {

[[nodiscard]] value reference_to(std::string_view definition);
[[nodiscard]] inline value schema_of(std::int64_t /*tag*/) { return reference_to("size"); }
[[nodiscard]] inline value schema_of(bool /*tag*/) { return {{"type", "boolean"}}; }
[[nodiscard]] inline value schema_of(double /*tag*/) { return {{"type", "number"}}; }
[[nodiscard]] inline value schema_of(const std::string& /*tag*/) { return {{"type", "string"}}; }
[[nodiscard]] inline value schema_of(pair /*tag*/) { return reference_to("pair"); }
[[nodiscard]] inline value schema_of(pads /*tag*/) { return reference_to("pads"); }
[[nodiscard]] value schema_of(const dims& /*tag*/);
[[nodiscard]] value schema_of(const margins& /*tag*/);
[[nodiscard]] inline value schema_of(position /*tag*/) { return reference_to("padding"); }
[[nodiscard]] value schema_of(named_value choice);
[[nodiscard]] value schema_of(const named_values& list);

}  // namespace detail

/// JSON schema of a record with these default `fields`. Sizes refer to the definitions `size`,
/// `pair`, `pads` and `padding` of the file.
[[nodiscard]] value fields_schema(const record_fields& fields);
template <class Record>
[[nodiscard]] value record_schema() {
  return fields_schema(fields_of(Record{}));
}

}  // namespace layerbench::json

#ifndef LAYERBENCH_COMPILED
#include <layerbench/shape/record_json-inl.hpp>
#endif
