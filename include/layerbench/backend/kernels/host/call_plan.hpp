// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/strided_operands.hpp>

/// Layerbench's own kernels on CPUs, loops of OpenMP, and the plans that are nothing else.
namespace layerbench::host {

/// The plan of an op by layerbench's loops alone, on any CPU; specialised for the ops that have
/// one. A backend without such an op derives its plan from it. Images are channels-last, or
/// row-major where the request says so.
template <class Op>
class own_plan;

/// Base class of own_plan: operands in host memory, without padding. They need no workspace unless
/// the plan says so.
class call_plan : public strided_operands {
 public:
  [[nodiscard]] std::string algorithm() const override { return algorithm_; }

  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    with_stored_number(logical(operand).type,
                       [&]<class T>(T /*tag*/) { store(operand, values, static_cast<T*>(to)); });
  }
  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const override {
    with_stored_number(logical(operand).type, [&]<class T>(T /*tag*/) {
      load(operand, static_cast<const T*>(from), values);
    });
  }

  struct binding {
    std::vector<address> operands;
    address workspace;
  };
  [[nodiscard]] static binding bind(std::span<const address> addresses, address workspace) {
    return {{addresses.begin(), addresses.end()}, workspace};
  }
  static void place(binding& bound, std::span<const address> addresses) {
    bound.operands.assign(addresses.begin(), addresses.end());
  }

 protected:
  call_plan(std::vector<op::operand> logical, const plan_request& request, std::string algorithm)
      : strided_operands(std::move(logical), request.layout), algorithm_(std::move(algorithm)) {}

  /// Address of an operand.
  template <class T>
  [[nodiscard]] static T* at(const binding& bound, std::size_t operand) {
    return static_cast<T*>(bound.operands[operand]);
  }

 private:
  std::string algorithm_;
};

}  // namespace layerbench::host
