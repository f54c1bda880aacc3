// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/stream.hpp>

/// The calls that measure the peaks of a device, as a pseudo-model.
namespace layerbench::model {

inline constexpr std::string_view peak_model = "peak";

/// Names of its layers: an almost empty call; streams are <kind>_<level>.
inline constexpr std::string_view peak_call = "call";
inline constexpr std::string_view peak_memory = "memory";

/// Streams of a cache cover one part in this many of it, so that their data stay cached.
inline constexpr std::int64_t peak_share = 2;

namespace detail {

inline void add_peak(graph& to, const std::string& name, op::any op) {
  to.layers.push_back({name, std::move(op), {model_input}});
}

inline void add_streams(graph& to, std::string_view level, std::int64_t bytes) {
  for (const op::stream_kind kind :
       {op::stream_kind::read, op::stream_kind::write, op::stream_kind::copy}) {
    add_peak(to, fmt::format("{}_{}", op::name(kind), level), op::any(op::stream{kind, bytes}));
  }
}

}  // namespace detail

/// Matrix products and streams for `threads` threads. `caches` are the bytes of each level that one
/// core uses, 0 for none. Several cores share the last-level cache; the machine has `last_caches`
/// of them.
///
/// gemm: two squares, the larger of which gives each thread at least what one of side 1024 is.
/// Streams: half of what the threads' caches of a level hold, where that is at least twice what
/// the level before holds, so that none of it is found there; and four times all of the last level
/// for memory (McCalpin, STREAM, 1995). Each thread goes over its part. `call` reads a cache line
/// a thread: the time of any call that all threads work on.
[[nodiscard]] inline graph peak_graph(const std::array<std::size_t, 3>& caches,
                                      std::size_t last_caches, int threads) {
  graph result;
  result.name = peak_model;
  result.title = "what the device attains";
  std::int64_t side = 1024;
  while (side * side * side < (std::int64_t{1} << 27U) * threads) side *= 2;
  for (const std::int64_t size : {side, 2 * side}) {
    detail::add_peak(result, fmt::format("square_{}", size),
                     op::any(op::gemm{.m = size, .n = size, .k = size}));
  }
  constexpr std::int64_t line = 64;
  detail::add_peak(result, std::string(peak_call),
                   op::any(op::stream{op::stream_kind::read, line * threads}));
  const std::size_t last = caches[2] > 0 ? 2 : 1;
  auto before = static_cast<std::int64_t>(caches[0]) * threads;
  for (std::size_t i = 1; i <= last; ++i) {
    const auto one = static_cast<std::int64_t>(caches.at(i));
    const std::int64_t all = i < last ? one * threads : one;
    const std::int64_t bytes = all / peak_share / line * line;
    if (bytes > 0 && bytes >= 2 * before)
      detail::add_streams(result, fmt::format("l{}", i + 1), bytes);
    before = all;
  }
  const std::size_t used = std::min(last_caches, static_cast<std::size_t>(threads));
  const std::size_t known = caches.at(last) > 0 ? caches.at(last) * used : std::size_t{64} << 20U;
  detail::add_streams(result, peak_memory, 4 * static_cast<std::int64_t>(known / line * line));
  return result;
}

}  // namespace layerbench::model
