// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/model/step.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>

/// The memory that each call of a step touches, and how many bytes the step touches between two
/// uses of the same bytes (the reuse distance). It decides where the caches hold an operand.
namespace layerbench::model {

/// A previous use of a call's memory by another call, perhaps of the step before.
struct previous_use {
  std::size_t call;
  std::vector<std::size_t> operands;  ///< the operands of that call in this memory
  bool writes;                        ///< one of them is a destination
  std::int64_t bytes;                 ///< touched, from the start of the memory
  std::int64_t distance;              ///< bytes touched since
};

/// The state of an operand when its call runs.
struct operand_state {
  op::role role;
  /// Bytes touched since the previous use by another call, in this step or the one before, or since
  /// the model's input was written; 0 if that was just before. Nothing if no other call uses it:
  /// then a whole step lies between two uses.
  std::optional<std::int64_t> distance;
  std::optional<std::size_t> writer = {};   ///< the last writer, a call of the same step
  std::size_t written_as = 0;               ///< the operand of the last writer
  std::optional<std::size_t> same_as = {};  ///< the operand of the call that it overwrites
  bool routed = false;                      ///< the experts of tokens: a few bytes
  /// The latest first. An older use is listed only if it touched bytes that no later one did.
  std::vector<previous_use> uses = {};
};

/// The state of a call's operands when it runs in its step.
struct call_state {
  std::int64_t footprint = 0;  ///< distinct bytes that a step touches
  std::vector<operand_state> operands;
  bool in_place = false;  ///< writes over a source
  /// Distinct bytes of all activations of the step, where they share memory.
  std::optional<std::int64_t> shared_bytes = {};

  /// Timings with equal signatures are interchangeable. Sizes are rounded to sixths of a decade, at
  /// most 21 % off.
  [[nodiscard]] std::string signature() const;
};

/// Bytes of an op's operands, in their order.
using operand_bytes = std::function<std::vector<std::int64_t>(const op::any&, op::pass)>;

/// Bytes without padding, by the op's sizes. All of a table counts, since it may be read anywhere.
[[nodiscard]] operand_bytes least_operand_bytes(dtype type);

/// The bytes that the calls of a step touch.
class step_memory {
 public:
  /// `bytes` gives the sizes of tensors. `all` must outlive this.
  step_memory(const step& all, const operand_bytes& bytes);

  /// Distinct bytes that a step touches.
  [[nodiscard]] std::int64_t footprint() const { return footprint_; }

  [[nodiscard]] call_state state_of(std::size_t call) const;

  /// The most frequent state of the operands among the calls that share their work.
  [[nodiscard]] call_state most_frequent_state(const primitive& shared) const;

 private:
  /// One more than the position of the last call before `call` that uses the tensor; 0 for the
  /// writer of the model's input. Nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> last_user(std::size_t tensor, std::size_t call) const;

  /// The same among the calls after `call`, which used the tensor in the previous step.
  [[nodiscard]] std::optional<std::size_t> later_user(std::size_t tensor, std::size_t call) const;

  /// Uses of a tensor by other calls before `call`, in this step or the one before. The model's
  /// input is written between steps, so its uses in the step before do not count.
  [[nodiscard]] std::vector<previous_use> uses_before(std::size_t tensor, std::size_t call) const;

  [[nodiscard]] bool touches(std::size_t call, std::size_t tensor) const {
    return touched_[call].contains(tensor);
  }

  /// Distinct bytes that the calls from `first` to the one before `end` touch. Positions past the
  /// last call mean calls of the next step. A call touches only a part of memory that a larger
  /// tensor had before.
  [[nodiscard]] std::int64_t touched_between(std::size_t first, std::size_t end) const;

  /// Nothing if the call uses the tensor only as a part of a packed tensor.
  [[nodiscard]] std::optional<previous_use> use_by(std::size_t call, std::size_t tensor,
                                                   std::int64_t distance) const;

  /// Finds the last call before `end` that writes the tensor.
  void find_writer(std::size_t tensor, std::size_t end, operand_state& state) const;

  const step& step_;
  std::vector<std::int64_t> bytes_;  ///< of each tensor
  /// The bytes that each call touches, by tensor or by part of a packed tensor.
  std::vector<std::map<std::size_t, std::int64_t>> touched_;
  std::int64_t footprint_ = 0;
  std::optional<std::int64_t> shared_bytes_ = {};  ///< of activations
};

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/reuse_distance-inl.hpp>
#endif
