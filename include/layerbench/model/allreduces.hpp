// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <layerbench/model/buckets.hpp>
#include <layerbench/op/allreduce.hpp>

/// All-reduces as lists of layers: no models, but timed like them.
namespace layerbench::model {

/// Settings of the all-reduces.
struct allreduce_settings {
  std::int64_t ranks = 1;
  bool in_place = true;
};

/// The pseudo-model of a sweep over sizes. Its layers are called bytes_<n>.
inline constexpr std::string_view sweep_model = "sweep";

namespace detail {

inline void add_allreduce(graph& to, std::string name, std::int64_t bytes,
                          const allreduce_settings& how) {
  to.layers.push_back(
      {std::move(name), op::any(op::allreduce{bytes, how.ranks, how.in_place}), {model_input}});
}

}  // namespace detail

/// All-reduces for the gradients of `g`: of all at once (`gradients`), of each bucket (`bucket<i>`,
/// from 1, in the order in which they are ready), and of each layer (by its name).
[[nodiscard]] inline graph gradient_allreduces(const graph& g, dtype type,
                                               const allreduce_settings& how) {
  graph result;
  result.name = g.name;
  result.title = "its gradients";
  const std::vector<gradient> all = gradients_of(g, type);
  const auto add = [&](std::string name, std::int64_t bytes) {
    detail::add_allreduce(result, std::move(name), bytes, how);
  };
  for (const bucket& whole : buckets_of(all, INT64_MAX, INT64_MAX)) add("gradients", whole.bytes);
  int number = 0;
  for (const bucket& part : buckets_of(all)) add(fmt::format("bucket{}", ++number), part.bytes);
  std::vector<gradient> by_layer;
  for (const gradient& next : all) {
    if (by_layer.empty() || by_layer.back().layer != next.layer)
      by_layer.push_back({next.layer, 0});
    by_layer.back().bytes += next.bytes;
  }
  for (const gradient& sum : by_layer) add(sum.layer, sum.bytes);
  return result;
}

/// The all-reduces of a sweep.
[[nodiscard]] inline graph allreduces_of(const graph& sweep, const allreduce_settings& how) {
  graph result;
  result.name = sweep.name;
  result.title = sweep.title;
  for (const layer& row : sweep.layers) {
    const auto* const reduced = row.op.get<op::allreduce>();
    if (reduced != nullptr) detail::add_allreduce(result, row.name, reduced->bytes, how);
  }
  return result;
}

/// Powers of two from 4 bytes to 1 GiB, but at most `most` bytes.
[[nodiscard]] inline graph allreduce_sweep(const allreduce_settings& how, std::int64_t most) {
  graph result;
  result.name = sweep_model;
  result.title = "powers of two";
  constexpr std::int64_t gibibyte = std::int64_t{1} << 30U;
  for (std::int64_t bytes = 4; bytes <= std::min(most, gibibyte); bytes *= 2) {
    detail::add_allreduce(result, fmt::format("bytes_{}", bytes), bytes, how);
  }
  return result;
}

}  // namespace layerbench::model
