// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>

/// What a result file says of the conditions of its rows.
namespace layerbench {

/// What a field of the context belongs to: in which comparisons it may differ, and whether it must
/// agree where nothing is compared.
enum class field_dimension : std::uint8_t {
  version,          ///< of the libraries or of layerbench
  device,           ///< device, with its caches
  instruction_set,  ///< of a device; settings can limit it
  driver,           ///< driver or operating system; devices differ in it, too
  setting,          ///< environment and options
  device_setting,   ///< a setting that fits a device, so that devices differ in it, too
  condition,        ///< varies between equal runs, or follows from other fields: need not agree
};

/// The value of a field.
struct fact {
  std::string value;
  field_dimension dimension;
  friend bool operator==(const fact&, const fact&) = default;
};

/// Facts for the context of a result file, by field name.
using description = std::map<std::string, fact>;

/// Adds those of these environment variables that are set.
inline void add_variables(description& facts, std::initializer_list<const char*> names,
                          field_dimension dimension = field_dimension::setting) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) facts[name] = {value, dimension};
  }
}

}  // namespace layerbench
