// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::run {

/// A call before this one that used an operand's memory.
struct previous_use {
  std::size_t call;  ///< its position in the step
  op::any op;
  op::pass pass;
  std::vector<std::size_t> operands;  ///< of that call, which lie in this memory
  bool writes;                        ///< whether that call writes one of them
  std::size_t bytes;                  ///< used of the memory, from its first byte
  std::int64_t distance;              ///< bytes that the step touches between the two calls
};

/// What the model's step does with an operand before the call.
struct operand_history {
  /// Bytes that the step touches after the last use of the operand; none: the whole step's.
  std::optional<std::int64_t> distance = {};
  /// The op of the same step that last wrote the operand, if any did.
  std::optional<op::any> producer = {};
  op::pass producer_pass = op::pass::fwd;
  std::size_t producer_output = 0;  ///< the producer's operand that is this one
  /// An earlier operand of this call that lies in the same memory.
  std::optional<std::size_t> same_as = {};
  /// The latest first. An older use is listed only if it used bytes that no later one did.
  std::vector<previous_use> uses = {};
};

/// An op and its place in a model's step, from which the state of the caches follows.
struct op_in_context {
  plan_request request = {};
  cache_state cache = cache_state::hot;
  std::int64_t footprint = 0;  ///< bytes of operands that the step touches
  /// Bytes of scratch memory of the other calls of the step. A call finds its own in the caches.
  std::int64_t workspace = 0;
  /// Bytes of the memory that all activations of the step share, if they do.
  std::optional<std::int64_t> shared_bytes = {};
  double share = 0;  ///< estimated share of the step's time that calls of this op take
  std::vector<operand_history> operands = {};  ///< missing ones were last used one step ago
  std::size_t step_calls = SIZE_MAX;           ///< calls in the step
  bool evict_private_caches = true;  ///< as the other layers of the step do between two calls
  /// Whether the row's memory is read before it is measured, so that the shared cache is as in an
  /// endless loop of steps. If not, calls are not paced, and nothing reads their results.
  bool warm_shared_cache = true;
  /// Copies write the sources, in place of the ops that do so in the model: from zeros or denormal
  /// numbers those would compute numbers of another class.
  bool copies_sources = false;
};

}  // namespace layerbench::run
