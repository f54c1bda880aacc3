// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/op.hpp>

#include "flops.hpp"
#include "graph.hpp"
#include "inference.hpp"

namespace layerbench::tool::importer {

/// A layer, and the positions of the layers that it reads; nothing: the model's input.
struct layer {
  std::string name;
  op::any op;
  std::vector<std::optional<std::size_t>> inputs;
  std::string module;                       ///< that it is named after
  std::string word;                         ///< for its name, beside the module
  std::optional<std::size_t> weights = {};  ///< the tensor that its first weights are
  std::size_t bias = no_value;              ///< of a gemm: the tensor
};

/// The extents of what a layer of this op writes.
[[nodiscard]] inline dims result_extents(const op::any& op) {
  return model::detail::of_role(op, op::role::destination).front().extents;
}

/// The extents of what it reads as this source.
[[nodiscard]] inline dims source_extents(const op::any& op, std::size_t place) {
  return model::detail::of_role(op, op::role::source).at(place).extents;
}

/// Nodes of one kind that no op computes.
struct missing {
  std::size_t count = 0;
  flop_count flops = {};
  std::vector<std::string> places = {};
};

/// Learned values of a traced model, and where they are.
struct learned_values {
  std::int64_t known = 0;           ///< of layers
  std::int64_t missing = 0;         ///< that only nodes read that are left out
  std::int64_t unread = 0;          ///< of the module, that no call reads
  std::size_t shared = 0;           ///< tensors of several layers
  std::size_t folded = 0;           ///< tensors of layers that are computed of others
  std::int64_t folded_values = 0;   ///< of these
  std::int64_t folded_sources = 0;  ///< that they are computed of
  double folded_flops = 0;          ///< of the nodes that compute them
};

struct conversion {
  std::string noun = "node";  ///< what the nodes are called
  std::vector<layer> layers;
  std::optional<learned_values> learned;         ///< of a traced model
  std::map<std::string, missing> unknown;        ///< by op and reason
  std::map<std::string, std::size_t> following;  ///< left out with them, by op
  std::map<std::string, std::size_t> notes;      ///< how often each applies
  flop_count flops = {};                         ///< of all nodes
  flop_count flops_following = {};               ///< of those left out with others
  std::size_t folded_batchnorms = 0;
};

/// The FLOPs of all that is left out; nothing if nothing is.
[[nodiscard]] std::optional<flop_count> left_out(const conversion& of);

/// Their share of all FLOPs, at least.
[[nodiscard]] inline double share_of(const flop_count& part, const conversion& of) {
  return of.flops.flops > 0 ? part.flops / of.flops.flops : 0;
}

/// The layers of a graph at one batch. With `softmax` a classifier that ends without a softmax gets
/// one. Throws bad_input.
[[nodiscard]] conversion convert(const graph& g, const sizes& of, bool softmax);

}  // namespace layerbench::tool::importer
