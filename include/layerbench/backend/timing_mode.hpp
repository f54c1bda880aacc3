// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench::run {

/// How calls are started and timed on devices that leave the choice.
/// single: each by itself and waited for, by the wall clock. stream: enqueued one after the other,
/// by the device's clock. graph: recorded, and replayed as a whole, by the device's clock.
enum class timing_mode : std::uint8_t { single, stream, graph };

}  // namespace layerbench::run

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::run::timing_mode>{"single", "stream", "graph"};

namespace layerbench::run {

/// How models of that phase usually run: inference is recorded once, for good; training is enqueued
/// anew in each step.
[[nodiscard]] constexpr timing_mode default_timing(std::string_view phase) {
  return phase == "inference" ? timing_mode::graph : timing_mode::stream;
}

}  // namespace layerbench::run
