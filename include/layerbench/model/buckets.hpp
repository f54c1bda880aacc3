// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>

/// The gradients that ranks exchange in every training step, in buckets.
namespace layerbench::model {

/// The gradient of one learned tensor.
struct gradient {
  std::string layer;
  std::int64_t bytes;
};

/// The gradients of a model in the order in which a step computes them: the reverse order of the
/// parameters, a layer's bias before its weights.
[[nodiscard]] inline std::vector<gradient> gradients_of(const graph& g, dtype type) {
  std::vector<gradient> ready;
  for (const layer& trained : std::views::reverse(g.layers)) {
    for (const op::operand& learned :
         std::views::reverse(trained.op.operands(op::pass::fwd, type))) {
      if (learned.role == op::role::weights) {
        ready.push_back({trained.name, op::bytes(learned)});
      }
    }
  }
  return ready;
}

/// Gradients that are sent together.
struct bucket {
  std::int64_t bytes = 0;
  /// The layers of its gradients, in the order in which these are ready. The bucket can be sent
  /// after the last one. A layer whose bias closes a bucket is in the next one too.
  std::vector<std::string> layers = {};
};

/// Bytes at which a bucket is closed, as in PyTorch's DistributedDataParallel. The first bucket is
/// small so that communication starts early.
inline constexpr std::int64_t first_bucket_bytes = std::int64_t{1} << 20U;
inline constexpr std::int64_t bucket_bytes = std::int64_t{25} << 20U;

/// The gradients in buckets, as PyTorch's DistributedDataParallel fills them (Li et al., PyTorch
/// Distributed, 2020, 3.2.3): in order, and a bucket is closed by the gradient with which it
/// reaches its limit. So a gradient above the limit is never cut.
[[nodiscard]] inline std::vector<bucket> buckets_of(const std::vector<gradient>& ready,
                                                    std::int64_t first = first_bucket_bytes,
                                                    std::int64_t rest = bucket_bytes) {
  std::vector<bucket> all;
  bool open = false;
  for (const gradient& next : ready) {
    if (!open) all.emplace_back();
    bucket& last = all.back();
    last.bytes += next.bytes;
    if (last.layers.empty() || last.layers.back() != next.layer) last.layers.push_back(next.layer);
    open = last.bytes < (all.size() == 1 ? first : rest);
  }
  return all;
}

/// The buckets of a model that trains in a data type.
[[nodiscard]] inline std::vector<bucket> buckets_of(const graph& g, dtype type,
                                                    std::int64_t first = first_bucket_bytes,
                                                    std::int64_t rest = bucket_bytes) {
  return buckets_of(gradients_of(g, type), first, rest);
}

}  // namespace layerbench::model
