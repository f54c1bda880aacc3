// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/peak.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/stream.hpp>
#include <utility>

#include <fmt/format.h>

#include <layerbench/op/op.hpp>

namespace layerbench::model {

namespace detail {

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

LAYERBENCH_INLINE graph peak_graph(const std::array<std::int64_t, 3>& cached,
                                   std::int64_t last_bytes, int threads) {
  graph result = detail::empty_peak_graph();
  std::int64_t side = 1024;
  while (side * side * side < (std::int64_t{1} << 27U) * threads) side *= 2;
  detail::add_products(result, side, /*b_transposed=*/false);
  detail::add_all_streams(result, cached, last_bytes, threads);
  return result;
}

LAYERBENCH_INLINE graph peak_graph_of_gpu(std::int64_t l2_bytes) {
  graph result = detail::empty_peak_graph();
  detail::add_products(result, 4096, /*b_transposed=*/true);
  const std::int64_t kept = l2_bytes / 2;
  detail::add_all_streams(result, {0, kept, 0}, 4 * l2_bytes, 1);
  const std::int64_t part = kept / peak_share / 4 / detail::line * detail::line;
  if (part > 0) detail::add_streams(result, fmt::format("l2{}", peak_part), part);
  return result;
}

}  // namespace layerbench::model
