// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/formula.hpp>
#include <layerbench/backend/host_backend.hpp>
#include <layerbench/op/memory_order.hpp>

/// Plain loops without dependencies: the oracle of the other backends, and the fallback on machines
/// without any of them. They compute in double precision on row-major arrays of float, whatever the
/// requested layout, and round results to the data type.
namespace layerbench::reference {

class backend : public host_backend {
 public:
  static constexpr std::string_view name = "reference";
  explicit backend(int /*threads*/) {}
};

}  // namespace layerbench::reference

namespace layerbench {

/// The reference plan of every op that has a formula.
template <op::operation Op>
  requires requires { sizeof(reference::formula<Op>); }
class plan<reference::backend, Op> : public run::any_plan {
 public:
  static constexpr bool has_post_ops = true;
  static constexpr bool has_quantization = true;
  [[nodiscard]] static constexpr bool has(op::manner /*how*/) { return true; }

  plan(const reference::backend& /*device*/, const Op& op, const plan_request& request)
      : op_(op), pass_(request.pass) {
    for (const op::operand& operand : op.operands(request.pass, request.type)) {
      const auto count = static_cast<std::size_t>(elements(operand.tensor()));
      operands_.push_back({operand, op::plain_order(operand.extents), count * sizeof(float)});
      if (operand.role != op::role::destination) continue;
      ++outputs_;
      output_bytes_ += operands_.back().bytes;
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  /// With several outputs they are computed in the workspace: in place, an output could overwrite
  /// the input of another.
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return outputs_ > 1 ? output_bytes_ : 0;
  }
  [[nodiscard]] std::string algorithm() const override { return "reference:direct"; }

  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    const std::span<float> all = elements_of(operand, to);
    for (std::size_t i = 0; i < values.size(); ++i) all[place(operand, i)] = values[i];
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    const std::span<const float> all = elements_of(operand, from);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = all[place(operand, i)];
  }

  struct binding {
    std::vector<reference::tensor> inputs;  ///< empty where the operand is an output
    std::vector<std::span<float>> outputs;  ///< empty where the operand is an input
    float* workspace;
  };

  [[nodiscard]] binding bind(std::span<const address> addresses, address workspace) const {
    binding bound{std::vector<reference::tensor>(addresses.size()),
                  std::vector<std::span<float>>(addresses.size()), static_cast<float*>(workspace)};
    place(bound, addresses);
    return bound;
  }

  void place(binding& bound, std::span<const address> addresses) const {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (operands_[i].logical.role == op::role::destination) {
        bound.outputs[i] = elements_of(i, addresses[i]);
      } else {
        bound.inputs[i] = std::span<const float>(elements_of(i, addresses[i]));
      }
    }
  }

  void run(const binding& bound) const {
    const auto exact = reference::evaluate(op_, pass_, bound.inputs);
    float* workspace = bound.workspace;
    for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
      if (bound.outputs[i].empty()) continue;
      const op::operand& logical = operands_[i].logical;
      float* output = outputs_ > 1 ? workspace : bound.outputs[i].data();
      const auto count = static_cast<std::size_t>(elements(logical.extents));
      for (std::size_t index = 0; index < count; ++index) {
        const double value = exact(i, static_cast<std::int64_t>(index)).value;
        output[place(i, index)] = static_cast<float>(
            round_to(logical.type, value, logical.scale, static_cast<double>(logical.zero_point)));
      }
      workspace += outputs_ > 1 ? bound.outputs[i].size() : 0;
    }
    if (outputs_ > 1) copy_outputs(bound);
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t operand, std::size_t index) const {
    return static_cast<std::size_t>(
        operands_[operand].logical.place(static_cast<std::int64_t>(index)));
  }
  [[nodiscard]] std::span<float> elements_of(std::size_t operand, address at) const {
    return {static_cast<float*>(at), operands_[operand].bytes / sizeof(float)};
  }

  static void copy_outputs(const binding& bound) {
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
