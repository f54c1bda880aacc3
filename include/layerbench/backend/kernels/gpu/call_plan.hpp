// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>

namespace layerbench::gpu {

/// The plan of an op by layerbench's kernels alone, on any GPU; specialised for the ops that have
/// one. A backend without such an op derives its plan from it.
template <class Op>
class own_plan;

/// Base class of the plans whose calls take the operands where they are. They need no workspace
/// unless the plan says so.
class call_plan : public tensor_plan {
 public:
  /// Functions and kernels, separated by "+" (backend/algorithm_name.hpp).
  [[nodiscard]] std::string algorithm() const override { return function_; }

  struct binding {
    std::vector<address> operands;
    address workspace;

    address operator[](std::size_t operand) const { return operands[operand]; }
  };

  [[nodiscard]] static binding bind(std::span<const address> addresses, address workspace) {
    return {{addresses.begin(), addresses.end()}, workspace};
  }
  static void place(binding& bound, std::span<const address> addresses) {
    bound.operands.assign(addresses.begin(), addresses.end());
  }

 protected:
  call_plan(const runtime& device, std::vector<op::operand> logical, const plan_request& request,
            std::string function)
      : tensor_plan(device, std::move(logical), request.layout), function_(std::move(function)) {}

  /// `orders`: one per operand.
  call_plan(const runtime& device, std::vector<op::operand> logical,
            const std::vector<std::string>& orders, std::string function)
      : tensor_plan(device, std::move(logical), orders), function_(std::move(function)) {}

 private:
  std::string function_;
};

}  // namespace layerbench::gpu
