// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench::run {

/// State of the caches before each call. hot: every call has the same operands. model: each operand
/// is as far from the caches as in the model, by the bytes that the model touches between two uses
/// of it. cold: no cache holds any operand.
enum class cache_state { hot, model, cold };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(cache_state /*tag*/) {
  return {"hot", "model", "cold"};
}

}  // namespace layerbench::run
