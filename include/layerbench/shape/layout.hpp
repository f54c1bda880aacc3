// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench {

/// Memory order of activations: channels last (the default), channels first, or the order that the
/// library prefers for the shape. Weights always have the library's preferred order.
enum class layout { nhwc, nchw, any };

template <>
inline constexpr std::array<std::string_view, 3> enum_names<layout>{"nhwc", "nchw", "any"};

}  // namespace layerbench
