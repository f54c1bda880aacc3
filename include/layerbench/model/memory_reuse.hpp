// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/model/reuse.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/shape/record.hpp>

/// Activations in memory that a step uses several times, as inference engines plan it.
namespace layerbench::model {

/// Whether each activation has separate memory, or is written over one that no later call reads.
enum class memory_mode { fresh, reused };

}  // namespace layerbench::model

template <>
inline constexpr std::array<std::string_view, 2>
    layerbench::enum_names<layerbench::model::memory_mode>{"fresh", "reused"};

namespace layerbench::model {

namespace detail {

/// Gives tensors of a step whose lifetimes do not overlap the same memory.
class memory_planner {
 public:
  memory_planner(step of, const operand_bytes& bytes);

  [[nodiscard]] step result() &&;

 private:
  /// The free memory that fits the tensor best: the smallest that is large enough, else the largest
  /// one, which grows; else the tensor's own.
  std::size_t take(std::size_t tensor);

  step step_;
  std::vector<std::int64_t> bytes_;     ///< of each tensor; grows with those that share its memory
  std::vector<std::size_t> last_use_;   ///< the last call that uses each tensor
  std::vector<bool> shares_;            ///< no input, result, or what is kept from step to step
  std::vector<std::size_t> free_ = {};  ///< tensors whose memory no later call needs
};

}  // namespace detail

/// The inference step with activations in shared memory: a tensor takes the place of one that no
/// later call reads. `bytes` gives the sizes of tensors.
[[nodiscard]] step with_reused_memory(step of, const operand_bytes& bytes);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/memory_reuse-inl.hpp>
#endif
