// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <layerbench/base/description.hpp>
#include <layerbench/shape/record.hpp>

template <>
inline constexpr std::array<std::string_view, 7>
    layerbench::enum_names<layerbench::field_dimension>{
        "version", "device", "instruction_set", "driver", "setting", "device_setting", "condition"};

namespace layerbench::result {

/// What fields of a context belong to.
using field_dimensions = std::map<std::string, field_dimension, std::less<>>;

/// The context field `field_dimensions` of docs/formats.md.
[[nodiscard]] std::string write_dimensions(const field_dimensions& all);

/// The inverse of write_dimensions. Throws bad_input naming `file`.
[[nodiscard]] field_dimensions read_dimensions(std::string_view text, std::string_view file);

/// The fields of Google Benchmark, and those of files without `field_dimensions`.
[[nodiscard]] const field_dimensions& known_dimensions();

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/field_dimensions-inl.hpp>
#endif
