// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/buckets.hpp>
#include <layerbench/model/collectives.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::model {

LAYERBENCH_INLINE op::collective collective_of(op::collective_kind kind, std::int64_t bytes,
                                               const collective_settings& how) {
  op::collective o{kind, bytes, how.ranks, how.in_place && op::collective::has_in_place(kind)};
  if (kind == op::collective_kind::all_reduce) return o;
  const auto rounded_up = [](std::int64_t size, std::int64_t unit) {
    return checked_add(size, (unit - size % unit) % unit);
  };
  constexpr std::int64_t aligned = 16;
  const std::int64_t block = rounded_up(bytes, o.blocks()) / o.blocks();
  const bool aligns = o.blocks() > 1 && block >= aligned;
  const auto element = static_cast<std::int64_t>(traits(how.type).bytes);
  o.bytes = checked_multiply(rounded_up(block, aligns ? aligned : element), o.blocks());
  return o;
}

namespace detail {

/// Adds a layer. An all-reduce is the op of its own rows.
inline void add_collective(graph& to, std::string name, const op::collective& o) {
  const bool reduces = o.kind == op::collective_kind::all_reduce;
  const op::any op = reduces ? op::any(op::allreduce{o.bytes, o.ranks, o.in_place}) : op::any(o);
  to.layers.push_back({std::move(name), op, {model_input}});
}

/// Prefix of layer names; empty for an all-reduce.
[[nodiscard]] inline std::string prefix_of(op::collective_kind kind) {
  return kind == op::collective_kind::all_reduce ? "" : std::string(name(kind)) + "_";
}

/// Bytes of the largest array that is measured and checked in `available` bytes of memory. Each
/// rank has two arrays, and the check has both as f32; the result of integers twice more, since a
/// second run is compared with the first.
[[nodiscard]] inline std::int64_t largest_array(const collective_settings& how,
                                                std::int64_t available) {
  const auto widened = static_cast<std::int64_t>(sizeof(float) / traits(how.type).bytes);
  const std::int64_t copies = (is_integer(how.type) ? 4 : 2) * std::max<std::int64_t>(1, widened);
  return available / (how.ranks * (2 + copies) + 2);
}

}  // namespace detail

LAYERBENCH_INLINE graph gradient_collectives(const graph& g, const collective_settings& how) {
  graph result;
  result.name = g.name;
  result.title = "its gradients";
  const std::vector<gradient> all = gradients_of(g, how.type);
  std::vector<gradient> sent;
  for (const bucket& whole : buckets_of(all, INT64_MAX, INT64_MAX)) {
    sent.push_back({"gradients", whole.bytes});
  }
  int number = 0;
  for (const bucket& part : buckets_of(all)) {
    sent.push_back({fmt::format("bucket{}", ++number), part.bytes});
  }
  const auto first_layer = std::ssize(sent);
  for (const gradient& next : all) {
    if (std::ssize(sent) == first_layer || sent.back().layer != next.layer)
      sent.push_back({next.layer, 0});
    sent.back().bytes += next.bytes;
  }
  for (const op::collective_kind kind : how.kinds) {
    for (const auto& [name, bytes] : sent) {
      detail::add_collective(result, detail::prefix_of(kind) + name,
                             collective_of(kind, bytes, how));
    }
  }
  return result;
}

LAYERBENCH_INLINE graph collectives_of(const graph& sweep, const collective_settings& how) {
  graph result;
  result.name = sweep.name;
  result.title = sweep.title;
  for (const layer& row : sweep.layers) {
    const auto found = op::as_collective(row.op);
    if (!found || std::ranges::find(how.kinds, found->kind) == how.kinds.end()) continue;
    detail::add_collective(result, row.name, collective_of(found->kind, found->bytes, how));
  }
  return result;
}

LAYERBENCH_INLINE graph collective_sweep(const collective_settings& how, std::int64_t available) {
  graph result;
  result.name = sweep_model;
  result.title = "powers of two";
  constexpr std::int64_t gibibyte = std::int64_t{1} << 30U;
  for (const op::collective_kind kind : how.kinds) {
    const std::int64_t most = std::min(gibibyte, detail::largest_array(how, available));
    std::int64_t last = 0;
    for (std::int64_t bytes = 4; bytes <= most; bytes *= 2) {
      const op::collective o = collective_of(kind, bytes, how);
      if (std::exchange(last, o.bytes) == o.bytes) continue;
      detail::add_collective(result, fmt::format("{}bytes_{}", detail::prefix_of(kind), o.bytes),
                             o);
    }
  }
  return result;
}

}  // namespace layerbench::model
