// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/memory_reuse.hpp>

namespace layerbench::model {

namespace detail {

/// Gives tensors of a step whose lifetimes do not overlap the same memory.
class memory_planner {
 public:
  memory_planner(step of, const operand_bytes& bytes) : step_(std::move(of)) {
    bytes_.resize(step_.tensors, 0);
    last_use_.resize(step_.tensors, 0);
    shares_.resize(step_.tensors, true);
    for (std::size_t i = 0; i < step_.calls.size(); ++i) {
      const call& user = step_.calls[i];
      const std::vector<std::int64_t> sizes = bytes(user.op, user.pass);
      for (std::size_t j = 0; j < user.tensors.size(); ++j) {
        const std::size_t tensor = user.tensors[j];
        bytes_[tensor] = std::max(bytes_[tensor], sizes.at(j));
        last_use_[tensor] = i;
        // A tensor whose last use writes it is a result.
        shares_[tensor] = !step_.written_as(user, tensor);
      }
    }
    for (std::size_t i = 0; i < step_.inputs; ++i) shares_[i] = false;
    for (const kept_tensor& kept : step_.kept) shares_[kept.tensor] = false;
    for (const packed_tensor& packed : step_.packed) {
      shares_[packed.whole] = false;
      for (const std::size_t part : packed.parts) shares_[part] = false;
    }
  }

  [[nodiscard]] step result() && {
    std::vector<std::size_t> place(step_.tensors);  // the tensor whose memory each one has
    std::iota(place.begin(), place.end(), std::size_t{0});
    std::vector<bool> placed(step_.tensors, false);
    for (std::size_t i = 0; i < step_.calls.size(); ++i) {
      std::vector<std::size_t>& tensors = step_.calls[i].tensors;
      const std::vector<std::size_t> used = tensors;
      for (std::size_t& tensor : tensors) {
        if (shares_[tensor] && !placed[tensor]) place[tensor] = take(tensor);
        placed[tensor] = true;
        tensor = place[tensor];
      }
      for (const std::size_t tensor : used) {
        if (!shares_[tensor] || last_use_[tensor] != i) continue;
        free_.push_back(place[tensor]);
        shares_[tensor] = false;  // a call may use it twice
      }
    }
    step_.reuses_memory = true;
    return std::move(step_);
  }

 private:
  /// The free memory that fits the tensor best: the smallest that is large enough, else the largest
  /// one, which grows; else the tensor's own.
  std::size_t take(std::size_t tensor) {
    if (free_.empty()) return tensor;
    const std::int64_t needed = bytes_[tensor];
    const auto better = [&](std::size_t a, std::size_t b) {
      const bool a_fits = bytes_[a] >= needed;
      const bool b_fits = bytes_[b] >= needed;
      if (a_fits != b_fits) return a_fits;
      return a_fits ? bytes_[a] < bytes_[b] : bytes_[a] > bytes_[b];
    };
    const auto best = std::ranges::min_element(free_, better);
    const std::size_t found = *best;
    free_.erase(best);
    bytes_[found] = std::max(bytes_[found], needed);
    return found;
  }

  step step_;
  std::vector<std::int64_t> bytes_;     ///< of each tensor; grows with those that share its memory
  std::vector<std::size_t> last_use_;   ///< the last call that uses each tensor
  std::vector<bool> shares_;            ///< no input, result, or what is kept from step to step
  std::vector<std::size_t> free_ = {};  ///< tensors whose memory no later call needs
};

}  // namespace detail

LAYERBENCH_INLINE step with_reused_memory(step of, const operand_bytes& bytes) {
  return detail::memory_planner(std::move(of), bytes).result();
}

}  // namespace layerbench::model
