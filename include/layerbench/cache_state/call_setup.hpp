// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/cache_state/buffer_layout.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/setup_op.hpp>
#include <layerbench/cache_state/step_caches.hpp>

namespace layerbench::run {

/// How caches are evicted, warmed and given time around the calls of a layout, and when its setup
/// ops run.
struct call_setup {
  call_setup(const compute_device& device, buffer_layout& layout, const op_in_context& what) {
    const step_caches caches(device, what);
    if (what.evict_private_caches && caches.of_model() && caches.step_evicts()) {
      private_eviction_bytes = caches.evicting_bytes();
    }
    const auto is_held = [&](const setup_op& op) { return caches.private_hold(op.distance()); };
    first_after_eviction = static_cast<std::size_t>(
        std::ranges::find_if(layout.setup_ops, is_held) - layout.setup_ops.begin());
    // A model that stays in the private caches has few layers, which run about one block each.
    if (!caches.step_evicts()) filler_blocks = std::min(filler_blocks, what.step_calls);
    // The warm-up calls bring the rings of smaller models into the private caches.
    warm_shared_cache = what.warm_shared_cache && caches.of_model() && caches.step_evicts() &&
                        caches.reuse_bytes() < caches.uncached_bytes();
    reads_results = warm_shared_cache && !what.shared_bytes;
    // What other tenants of the host leave in the last-level cache depends on the time that passes.
    // The cache keeps little of a step of more than twice its size in any case. Memory that all
    // activations share is used many times in a step: while the ring waited, it would be evicted.
    paced = reads_results && caches.shared_holds_step(2) &&
            device.timing() != timing_mode::graph;  // a graph cannot wait
    set_leads(layout);
  }

  /// Sets how many calls ahead each setup op of the layout runs, from its distance to the call. Ops
  /// that run after the eviction, and the one that runs first, run just before the call.
  /// `turns_per_step` is the time of a step in turns of the rings; paced calls also use the
  /// fraction of a call. The ops of one call then run in that order.
  void set_leads(buffer_layout& layout, double turns_per_step = 1) const {
    std::vector<setup_op>& ops = layout.setup_ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool after_eviction = private_eviction_bytes > 0 && i >= first_after_eviction;
      if (ops[i].runs_first() || after_eviction) continue;
      const double calls = turns_per_step * static_cast<double>(ops[i].distance()) /
                           static_cast<double>(layout.call_bytes);
      // The next slot would be the call's.
      const auto most = static_cast<double>(layout.activation_slots - 1);
      const double whole = std::min(most, paced ? std::floor(calls) : std::round(calls));
      ops[i].set_lead(static_cast<std::int64_t>(whole), paced ? std::min(calls - whole, 1.0) : 0);
    }
    const bool has_first = !ops.empty() && ops.front().runs_first();
    std::ranges::stable_sort(ops.begin() + (has_first ? 1 : 0),
                             ops.begin() + static_cast<std::ptrdiff_t>(first_after_eviction),
                             std::ranges::greater{}, &setup_op::lead_fraction);
  }

  std::size_t private_eviction_bytes = 0;  ///< 0: private caches are not evicted
  /// Index of the first setup op that runs after the private caches were evicted.
  std::size_t first_after_eviction = 0;
  std::size_t filler_blocks =
      instruction_cache_filler.size();  ///< run before each call, see evict_instruction_cache()
  bool warm_shared_cache = false;       ///< the caller should read the rings before it measures
  /// Results should be read again after a call, since a last-level cache may keep such memory until
  /// the next step. Not of shared memory, which the model soon uses for something else.
  bool reads_results = false;
  bool paced = false;  ///< one turn of the rings should last as long as a step
};

}  // namespace layerbench::run
