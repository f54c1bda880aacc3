// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::run {

/// State of the caches before each call. hot: the same operands every call. model: each operand as
/// it is in the model, by the bytes that the model touches between two uses of it. cold: nothing in
/// any cache.
enum class cache_state { hot, model, cold };

}  // namespace layerbench::run

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::run::cache_state>{"hot", "model", "cold"};

namespace layerbench::run {

/// The last use of an operand's memory by another call.
struct previous_use {
  op::any op;
  op::pass pass;
  std::vector<std::size_t> operands;  ///< those of that call which were in this memory
  bool writes;                        ///< one of them is what it writes
  std::int64_t distance;              ///< bytes touched since
};

/// An operand before a call: how many bytes were touched since it was used last (nothing: all that
/// a step touches), and which op of the same step wrote it last, if any did.
struct operand_history {
  std::optional<std::int64_t> distance = {};
  std::optional<op::any> producer = {};
  op::pass pass = op::pass::fwd;
  std::size_t output = 0;                ///< which of the producer's operands it was
  std::optional<std::size_t> over = {};  ///< the one that the producer wrote over
  /// By operand of the producer: how many bytes before it that was used, where it is a source.
  std::vector<std::optional<std::int64_t>> before = {};
  std::optional<std::size_t> same_as =
      {};  ///< an earlier operand of the call, in whose memory it is
  std::optional<previous_use> used = {};
};

/// What there is to bring into state.
struct op_in_context {
  plan_request request = {};
  cache_state cache = cache_state::hot;
  std::int64_t footprint = 0;  ///< of the model's step
  double share = 0;            ///< of the step's time, all such calls of it, roughly
  std::vector<operand_history> operands = {};  ///< where nothing is said they are old
  std::size_t calls = SIZE_MAX;                ///< of the model's step
  bool private_evicted = true;      ///< what a call needs beside its operands is old, too
  bool shared_cache_warmed = true;  ///< shared caches are as in an endless loop of steps
};

}  // namespace layerbench::run
