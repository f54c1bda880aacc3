// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <layerbench/model/graph.hpp>

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
[[nodiscard]] graph peak_graph(const std::array<std::int64_t, 3>& cached, std::int64_t last_bytes,
                               int threads);

/// As peak_graph() for a GPU with `l2_bytes` of L2 cache, the only level that all its cores share;
/// 0 if that is not known. Products have several tiles of 128x256 for each of 132 multiprocessors,
/// and weights as cuBLAS needs them in f8_e4m3. Streams of the L2 take half as much of it as those
/// of other caches: each half of it keeps what its multiprocessors read (NVIDIA A100 Tensor Core
/// GPU Architecture, 2020). Starting a kernel takes about as long, so a part is measured, too.
/// Streams of memory are so long that neither the start of a kernel nor what is left in the cache
/// counts.
[[nodiscard]] graph peak_graph_of_gpu(std::int64_t l2_bytes);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/peak-inl.hpp>
#endif
