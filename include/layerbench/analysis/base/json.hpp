// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <layerbench/shape/json.hpp>

/// What the JSON of several subcommands has alike.
namespace layerbench::analysis::detail {

[[nodiscard]] inline json::value or_null(std::optional<double> number) {
  return number ? json::value(*number) : json::value(nullptr);
}

}  // namespace layerbench::analysis::detail
