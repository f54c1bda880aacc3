// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <layerbench/backend/device.hpp>

/// What a suite and its chains must know of ranks that train together. ranks/ implements it.
namespace layerbench::run {

/// Collectives that run in the background while this rank computes.
class background_collectives {
 public:
  background_collectives() = default;
  background_collectives(const background_collectives&) = delete;
  background_collectives& operator=(const background_collectives&) = delete;
  virtual ~background_collectives() = default;

  /// Queues one call of a collective on arrays of `device`, behind what is enqueued there. Until
  /// wait_for_posted() returns, this rank takes part in no other communication.
  virtual void post(compute_device& device, bound_plan& collective) = 0;
  /// What is enqueued on `device` from now on begins when all posted calls are done.
  virtual void wait_for_posted(compute_device& device) = 0;
};

/// The group of ranks that train one model together.
class data_parallel_group : public background_collectives {
 public:
  /// Number of ranks.
  [[nodiscard]] virtual int size() const = 0;
  /// Number of ranks on this machine.
  [[nodiscard]] virtual int ranks_on_host() const = 0;
  /// Makes the plan of a collective op between the ranks, on arrays of `device`. Throws
  /// unsupported.
  [[nodiscard]] virtual std::unique_ptr<any_plan> plan(compute_device& device, const op::any& op,
                                                       const plan_request& request) = 0;
  /// Adds what result files say of the libraries between the ranks.
  virtual void describe(description& facts) const = 0;
};

}  // namespace layerbench::run
