// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/formula.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/op/reorder.hpp>

/// Plain loops without any dependency: the oracle of the other backends, and what runs where none
/// of them can. It computes in double precision on row-major arrays of float, whatever the layout
/// asked for; results are rounded to the data type.
namespace layerbench::reference {

class backend : public host_thread {
 public:
  static constexpr std::string_view name = "reference";
  explicit backend(int /*threads*/) {}

  static std::optional<std::string> probe() noexcept { return std::nullopt; }
  static void describe(description& /*facts*/) {}
};

}  // namespace layerbench::reference

namespace layerbench {

/// The reference plan of every op that has a formula.
template <op::operation Op>
  requires requires { sizeof(reference::formula<Op>); }
class plan<reference::backend, Op> {
 public:
  plan(reference::backend& /*here*/, const Op& op, const plan_request& request)
      : op_(op), pass_(request.pass) {
    for (const op::operand& operand : op.operands(request.pass, request.type)) {
      const auto count = static_cast<std::size_t>(elements(operand.extents));
      operands_.push_back({operand, op::plain_order(operand.extents), count * sizeof(float)});
      if (operand.role != op::role::destination) continue;
      ++outputs_;
      output_bytes_ += operands_.back().bytes;
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  /// Several outputs are computed beside first: one may overwrite what another needs.
  [[nodiscard]] std::size_t workspace_bytes() const { return outputs_ > 1 ? output_bytes_ : 0; }
  [[nodiscard]] static std::string algorithm() { return "reference:direct"; }

  void upload(std::size_t operand, std::span<const float> values, address to) const {
    std::ranges::copy(values, elements_of(operand, to).begin());
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    std::ranges::copy(elements_of(operand, from), values.begin());
  }

  struct binding {
    std::vector<std::span<const float>> inputs;  ///< empty where the operand is an output
    std::vector<std::span<float>> outputs;       ///< empty where the operand is an input
    float* workspace;
  };

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    binding bound{std::vector<std::span<const float>>(places.size()),
                  std::vector<std::span<float>>(places.size()), static_cast<float*>(workspace)};
    place(bound, places);
    return bound;
  }

  void place(binding& bound, std::span<const address> places) const {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (operands_[i].logical.role == op::role::destination) {
        bound.outputs[i] = elements_of(i, places[i]);
      } else {
        bound.inputs[i] = elements_of(i, places[i]);
      }
    }
  }

  void run(const binding& bound) const {
    float* beside = bound.workspace;
    for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
      const op::operand& logical = operands_[i].logical;
      float* to = outputs_ > 1 ? beside : bound.outputs[i].data();
      for (std::size_t index = 0; index < bound.outputs[i].size(); ++index) {
        const reference::sum exact = reference::formula<Op>::at(op_, pass_, bound.inputs, i,
                                                                static_cast<std::int64_t>(index));
        to[index] = static_cast<float>(round_to(logical.type, exact.value, logical.scale));
      }
      beside += outputs_ > 1 ? bound.outputs[i].size() : 0;
    }
    if (outputs_ > 1) store(bound);
  }

 private:
  [[nodiscard]] std::span<float> elements_of(std::size_t operand, address at) const {
    return {static_cast<float*>(at), operands_[operand].bytes / sizeof(float)};
  }

  static void store(const binding& bound) {
    const float* from = bound.workspace;
    for (const std::span<float> to : bound.outputs) {
      std::copy_n(from, to.size(), to.begin());
      from += to.size();
    }
  }

  Op op_;
  op::pass pass_;
  std::vector<plan_operand> operands_;
  std::size_t outputs_ = 0;
  std::size_t output_bytes_ = 0;
};

static_assert(backend<reference::backend>);

}  // namespace layerbench
