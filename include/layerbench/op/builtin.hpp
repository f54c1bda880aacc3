// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// The catalog of every op of the library (op/list.hpp).
[[nodiscard]] catalog builtin_catalog();

/// The op of the library with this name and any::key(). Nothing if there is none, as for a row of
/// an op from outside.
[[nodiscard]] std::optional<any> from_key(std::string_view name, std::string_view key);

/// The backend that an any::key() names; empty if it is that of the row.
[[nodiscard]] std::string_view backend_of_key(std::string_view key);

}  // namespace layerbench::op

#ifndef LAYERBENCH_COMPILED
#include <layerbench/op/builtin-inl.hpp>
#endif
