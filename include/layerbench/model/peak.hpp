// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Suffix of streams of a quarter of the bytes. Subtracting them removes the start of a call.
inline constexpr std::string_view peak_part = "_part";

namespace detail {

inline constexpr std::int64_t line = 64;  ///< bytes of a cache line

inline void add_peak(graph& to, const std::string& name, op::any op) {
  to.layers.push_back({name, std::move(op), {model_input}});
}

/// Two squares, the second one twice as long. `b_transposed`: op::gemm's.
inline void add_products(graph& to, std::int64_t side, bool b_transposed) {
  for (const std::int64_t size : {side, 2 * side}) {
    add_peak(to, fmt::format("square_{}", size),
             op::any(op::gemm{.m = size, .n = size, .k = size, .b_transposed = b_transposed}));
  }
}

inline void add_streams(graph& to, std::string_view level, std::int64_t bytes) {
  for (const op::stream_kind kind :
       {op::stream_kind::read, op::stream_kind::write, op::stream_kind::copy}) {
    add_peak(to, fmt::format("{}_{}", op::name(kind), level), op::any(op::stream{kind, bytes}));
  }
}

/// An almost empty call, and the streams of each level.
inline void add_all_streams(graph& to, const std::array<std::int64_t, 3>& cached,
                            std::int64_t last_bytes, int threads) {
  add_peak(to, std::string(peak_call), op::any(op::stream{op::stream_kind::read, line * threads}));
  std::int64_t before = cached.front();
  for (std::size_t i = 1; i < cached.size(); ++i) {
    const std::int64_t bytes = cached.at(i) / peak_share / line * line;
    if (bytes > 0 && bytes >= 2 * before) add_streams(to, fmt::format("l{}", i + 1), bytes);
    before = cached.at(i);
  }
  const std::int64_t known = last_bytes > 0 ? last_bytes : std::int64_t{64} << 20U;
  add_streams(to, peak_memory, 4 * (known / line * line));
}

[[nodiscard]] inline graph empty_peak_graph() {
  graph result;
  result.name = peak_model;
  result.title = "what the device attains";
  return result;
}

}  // namespace detail

/// Matrix products and streams for `threads` threads. `cached` are the bytes that the threads keep
/// in the caches of each level if each uses an equal part of them, 0 for none; `last_bytes` those
/// of all last-level caches that they use, 0 if that is not known.
///
/// gemm: two squares, the larger of which gives each thread at least what one of side 1024 is.
/// Streams: half of what the threads' caches of a level hold, where that is at least twice what
/// the level before holds, so that none of it is found there; and four times all of the last level
/// for memory (McCalpin, STREAM, 1995). Each thread goes over its part. `call` reads a cache line
/// a thread: the time of any call that all threads work on.
[[nodiscard]] inline graph peak_graph(const std::array<std::int64_t, 3>& cached,
                                      std::int64_t last_bytes, int threads) {
  graph result = detail::empty_peak_graph();
  std::int64_t side = 1024;
  while (side * side * side < (std::int64_t{1} << 27U) * threads) side *= 2;
  detail::add_products(result, side, /*b_transposed=*/false);
  detail::add_all_streams(result, cached, last_bytes, threads);
  return result;
}

/// As peak_graph() for a GPU with `l2_bytes` of L2 cache, the only level that all its cores share;
/// 0 if that is not known. Products have several tiles of 128x256 for each of 132 multiprocessors,
/// and weights as cuBLAS needs them in f8_e4m3. Streams of the L2 take half as much of it as those
/// of other caches: each half of it keeps what its multiprocessors read (NVIDIA A100 Tensor Core
/// GPU Architecture, 2020). Starting a kernel takes about as long, so a part is measured, too.
/// Streams of memory are so long that neither the start of a kernel nor what is left in the cache
/// counts.
[[nodiscard]] inline graph peak_graph_of_gpu(std::int64_t l2_bytes) {
  graph result = detail::empty_peak_graph();
  detail::add_products(result, 4096, /*b_transposed=*/true);
  const std::int64_t kept = l2_bytes / 2;
  detail::add_all_streams(result, {0, kept, 0}, 4 * l2_bytes, 1);
  const std::int64_t part = kept / peak_share / 4 / detail::line * detail::line;
  if (part > 0) detail::add_streams(result, fmt::format("l2{}", peak_part), part);
  return result;
}

}  // namespace layerbench::model
