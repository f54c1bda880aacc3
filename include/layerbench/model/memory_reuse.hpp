// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/shape/record.hpp>

/// Activations in memory that a step uses several times, as inference engines plan it.
namespace layerbench::model {

/// Whether each activation has separate memory, or is written over one that no later call reads.
enum class memory_mode { fresh, reused };

[[nodiscard]] constexpr std::array<std::string_view, 2> list_names(memory_mode /*tag*/) {
  return {"fresh", "reused"};
}

/// The step with activations, and in training gradients, in shared memory: a tensor takes the place
/// of one that no later call reads. `bytes` gives the sizes of tensors.
[[nodiscard]] step with_reused_memory(step of, const operand_bytes& bytes);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/memory_reuse-inl.hpp>
#endif
