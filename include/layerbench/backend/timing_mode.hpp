// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench::run {

/// How calls are launched and timed on devices that can record graphs. single: one call at a time,
/// by the wall clock. stream: calls enqueued one after the other, by the device's timer. graph:
/// calls recorded and replayed as a graph, by the device's timer.
enum class timing_mode : std::uint8_t { single, stream, graph };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(timing_mode /*tag*/) {
  return {"single", "stream", "graph"};
}

/// Steps are recorded, as frameworks do to keep the time of the host out. The all-reduces of
/// several ranks run beside other calls, which a recording has no place for, and collectives alone
/// are timed as NCCL's tests do by default.
[[nodiscard]] constexpr timing_mode default_timing(bool several_ranks) {
  return several_ranks ? timing_mode::stream : timing_mode::graph;
}

}  // namespace layerbench::run
