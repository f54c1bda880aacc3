// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace layerbench {

/// Memory order of activations: channels last (the default), channels first, or whatever the
/// library prefers for the shape. Weights are always in the library's preferred order.
enum class layout { nhwc, nchw, any };

inline constexpr std::array<std::string_view, 3> layout_names{"nhwc", "nchw", "any"};

[[nodiscard]] constexpr std::string_view name(layout value) {
  return layout_names.at(static_cast<std::size_t>(value));
}

[[nodiscard]] constexpr std::optional<layout> layout_from(std::string_view text) {
  for (std::size_t i = 0; i < layout_names.size(); ++i) {
    if (layout_names.at(i) == text) return static_cast<layout>(i);
  }
  return std::nullopt;
}

}  // namespace layerbench
