// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include <layerbench/base/json.hpp>
#include <layerbench/shape/record.hpp>

/// The JSON form of records and its schema. Included only where JSON is read or written.
namespace layerbench::json {

/// Values of a shape file's named parameters, such as `batch`.
using parameters = std::map<std::string, std::int64_t, std::less<>>;

/// A size: a count, the name of a parameter, or a list of sizes (their product), in
/// [least, max_size].
[[nodiscard]] std::int64_t read_size(const cursor& at, const parameters& named,
                                     std::int64_t least = 1);

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

/// JSON schema of a record with these default `fields`. Sizes refer to the definitions `size`,
/// `pair`, `pads` and `padding` of the file.
[[nodiscard]] value fields_schema(const record_fields& fields);

}  // namespace layerbench::json

#ifndef LAYERBENCH_COMPILED
#include <layerbench/shape/record_json-inl.hpp>
#endif
