// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/strided_operands.hpp>

/// Layerbench's own kernels on CPUs, loops of OpenMP, and the plans that are nothing else.
namespace layerbench::host {

/// Base class of the plans by loops: operands in host memory, without padding.
class tensor_plan : public strided_operands {
 public:
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

 protected:
  using strided_operands::strided_operands;
};

using call_plan = layerbench::call_plan<tensor_plan>;

/// The plan of an op by layerbench's loops alone, on any CPU; specialised for the ops that have
/// one. A backend without such an op derives its plan from it. Images are channels-last, or
/// row-major where the request says so.
template <class Op>
class own_plan;

}  // namespace layerbench::host
