// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>

/// What devices that train a model together send each other in every step: its gradients.
namespace layerbench::model {

/// The gradient of one learned tensor.
struct gradient {
  std::string layer;
  std::int64_t bytes;
};

/// The gradients of a model that trains in a data type, in the order in which a step has them
/// ready: the reverse of that of the parameters, a layer's bias before its weights.
[[nodiscard]] inline std::vector<gradient> gradients_of(const graph& g, dtype type) {
  std::vector<gradient> ready;
  for (const layer& owner : std::views::reverse(g.layers)) {
    for (const op::operand& learned :
         std::views::reverse(owner.op.operands(op::pass::fwd, type))) {
      if (learned.role == op::role::weights) {
        ready.push_back({owner.name, op::least_bytes({learned})});
      }
    }
  }
  return ready;
}

/// Gradients that are sent together.
struct bucket {
  std::int64_t bytes = 0;
  /// Whose gradients, as they get ready, each once; it can be sent when those of the last one are.
  /// A layer whose bias closes a bucket stands in the next one, too.
  std::vector<std::string> layers = {};
};

/// Most bytes that buckets are to have (PyTorch's DistributedDataParallel: the first, so that
/// something is sent early, and the others).
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

/// The same of a model that trains in a data type.
[[nodiscard]] inline std::vector<bucket> buckets_of(const graph& g, dtype type,
                                                    std::int64_t first = first_bucket_bytes,
                                                    std::int64_t rest = bucket_bytes) {
  return buckets_of(gradients_of(g, type), first, rest);
}

}  // namespace layerbench::model
