// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/state.hpp>

namespace layerbench::run {

/// Which memory the caches of a device still hold, by the bytes that a step touched since its use.
class step_caches {
 public:
  step_caches(const compute_device& device, const op_in_context& what)
      : of_model_(what.cache == cache_state::model),
        several_threads_(device.threads() > 1),
        private_bytes_(device.core_cache_bytes()),
        shared_bytes_(device.cache_bytes()),
        footprint_(static_cast<std::size_t>(what.footprint)),
        workspace_(static_cast<std::size_t>(what.workspace)),
        reuse_bytes_(what.cache == cache_state::hot ? 0
                     : of_model_                    ? std::min(footprint_, uncached_bytes())
                                                    : uncached_bytes()) {}

  /// Whether calls find the state of a model, not that of hot or cold calls.
  [[nodiscard]] bool of_model() const { return of_model_; }
  /// Bytes to touch between two uses of weights.
  [[nodiscard]] std::size_t reuse_bytes() const { return reuse_bytes_; }
  /// Other bytes to touch until no cache holds an operand.
  [[nodiscard]] std::size_t uncached_bytes() const {
    return 4 * (shared_bytes_ == 0 ? std::size_t{64} << 20U : shared_bytes_);
  }
  /// Of the private caches, or of the shared one where there are none.
  [[nodiscard]] std::size_t nearest_bytes() const {
    return private_bytes_ > 0 ? private_bytes_ : shared_bytes_;
  }

  /// Whether that many last-level caches would hold what the step touches.
  [[nodiscard]] bool shared_holds_step(std::size_t caches = 1) const {
    return reuse_bytes_ <= caches * shared_bytes_;
  }
  /// Whether private caches still hold something that was used `distance` bytes ago.
  [[nodiscard]] bool private_hold(std::int64_t distance) const {
    return static_cast<std::size_t>(distance) < private_bytes_;
  }
  /// Whether something was used so few bytes ago that a turn of the ring cannot represent it.
  [[nodiscard]] bool is_recent(std::int64_t distance) const {
    return 2 * static_cast<std::size_t>(distance) <= reuse_bytes_;
  }

  /// Whether it matters which core wrote an operand: only its private cache may hold the operand,
  /// from which other cores read slowly.
  [[nodiscard]] bool writer_matters() const { return several_threads_ && shared_holds_step(); }
  /// Whether it matters which core used a destination `distance` bytes ago: on several threads,
  /// where the last-level cache holds the model or the private caches still hold what was used.
  [[nodiscard]] bool user_matters(std::int64_t distance) const {
    return writer_matters() || (several_threads_ && private_hold(distance));
  }

  /// Bytes that evict the private caches. It is a multiple of their size, since they do not always
  /// evict the oldest line first.
  [[nodiscard]] std::size_t evicting_bytes() const { return 4 * private_bytes_; }
  /// Whether the step evicts the private caches, by its operands or by scratch memory of another
  /// call: oneDNN's LSTM of 500 steps touches 1 MB of operands and 6 MB of scratch memory.
  [[nodiscard]] bool step_evicts() const { return footprint_ + workspace_ > evicting_bytes(); }

 private:
  bool of_model_;
  bool several_threads_;
  std::size_t private_bytes_;
  std::size_t shared_bytes_;
  std::size_t footprint_;
  std::size_t workspace_;
  std::size_t reuse_bytes_;
};

}  // namespace layerbench::run
