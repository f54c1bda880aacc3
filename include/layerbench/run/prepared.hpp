// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <layerbench/backend/backend.hpp>

namespace layerbench::run {

/// Test data of an operand: uniform in its range, rounded to its type, the same on every machine
/// and for every backend. Element i depends on `seed` and i alone (splitmix64, Steele et al. 2014).
[[nodiscard]] inline std::vector<float> random_values(const op::operand& operand,
                                                      std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(elements(operand.extents)));
  std::uint64_t state = seed;
  for (float& value : values) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
    const double unit = static_cast<double>(z >> 11U) * 0x1p-53;
    const double number = operand.low + (operand.high - operand.low) * unit;
    value = static_cast<float>(round_to(operand.type, number, operand.quantum));
  }
  return values;
}

/// A plan with buffers filled with test data, ready to run.
template <backend B, op::operation Op>
  requires implements<B, Op>
class prepared {
 public:
  /// Throws `unsupported` when the backend has no such plan. With `inputs`, leaves the logical
  /// input values there (nothing for outputs); they may be large.
  prepared(B& here, const Op& op, const plan_request& request, std::uint64_t seed,
           std::vector<std::vector<float>>* inputs = nullptr)
      : here_(&here), plan_(here, op, request), workspace_(here.allocate(plan_.workspace_bytes())) {
    const std::vector<plan_operand>& operands = plan_.operands();
    buffers_.reserve(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      buffers_.push_back(here.allocate(operands[i].bytes));
      std::vector<float> values;
      if (operands[i].logical.role != op::role::destination) {
        values = random_values(operands[i].logical, seed + i * 0x5851F42D4C957F2DU);
        plan_.upload(i, values, buffers_.back());
      }
      if (inputs != nullptr) inputs->push_back(std::move(values));
    }
    std::vector<typename B::buffer*> pointers;
    for (auto& buffer : buffers_) pointers.push_back(&buffer);
    bound_ = std::make_unique<binding>(plan_.bind(pointers, workspace_));
  }

  /// Enqueues one call.
  void call() { plan_.run(*bound_); }
  void synchronize() { here_->synchronize(); }

  /// Sets every byte of every output.
  void poison(std::byte value) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (plan_.operands()[i].logical.role == op::role::destination) {
        here_->fill(buffers_[i], value);
      }
    }
  }

  /// Elements of operand `i`, row-major.
  [[nodiscard]] std::vector<float> values(std::size_t i) {
    std::vector<float> out(static_cast<std::size_t>(elements(plan_.operands()[i].logical.extents)));
    plan_.download(i, buffers_[i], out);
    return out;
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return plan_.operands(); }
  [[nodiscard]] std::string algorithm() const { return plan_.algorithm(); }
  [[nodiscard]] std::size_t workspace_bytes() const { return plan_.workspace_bytes(); }

  /// Memory held, workspace included.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = plan_.workspace_bytes();
    for (const plan_operand& each : plan_.operands()) sum += each.bytes;
    return sum;
  }

 private:
  using binding = decltype(std::declval<const plan<B, Op>&>().bind(
      std::span<typename B::buffer*>{}, std::declval<const typename B::buffer&>()));

  B* here_;
  plan<B, Op> plan_;
  typename B::buffer workspace_;
  std::vector<typename B::buffer> buffers_;
  std::unique_ptr<binding> bound_;  // holds addresses of its own members: must not move
};

}  // namespace layerbench::run
