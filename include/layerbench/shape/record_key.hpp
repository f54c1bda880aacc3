// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench {

/// The inverse of key(): the fields with the values that a canonical key has. Fields that it leaves
/// out keep the values of `defaults`. Nothing if it has an unknown field or value, or lacks a
/// required field.
[[nodiscard]] std::optional<record_fields> read_key(std::string_view key, record_fields defaults);

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/shape/record_key-inl.hpp>
#endif
