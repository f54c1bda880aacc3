// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::run {

/// The memory that a plan needs.
struct plan_memory {
  std::vector<plan_operand> operands;
  std::size_t workspace_bytes = 0;
};

/// The memory that the plans of a step's calls need. Makes each plan once, and drops it.
class plan_memories {
 public:
  plan_memories(compute_device& device, const plan_request& request)
      : device_(device), request_(request) {}

  [[nodiscard]] const plan_request& request() const { return request_; }

  /// Empty where the device has no plan; measuring the call will report that.
  [[nodiscard]] const plan_memory& of(const op::any& op, op::pass pass);

 private:
  compute_device& device_;
  plan_request request_;
  std::map<std::string, plan_memory> known_;
};

inline const plan_memory& plan_memories::of(const op::any& op, op::pass pass) {
  const auto [known, is_new] = known_.try_emplace(model::work_of(op, pass));
  if (is_new) {
    plan_request request = request_;
    request.pass = pass;
    if (const auto plan = plan_or_null(device_, op, request)) {
      known->second = {plan->operands(), plan->workspace_bytes()};
    }
  }
  return known->second;
}

}  // namespace layerbench::run
