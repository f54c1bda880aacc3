// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/update.hpp>
#include <layerbench/shape/dtype.hpp>

/// The learned values of a training step, and the calls that update them.
namespace layerbench::model::detail {

/// Tensors of operands, by their names.
using named_tensors = std::map<std::string, std::size_t, std::less<>>;

/// Weights of a layer, with their gradient.
struct parameter {
  std::string name;  ///< <layer>_<operand>
  std::size_t weights;
  std::size_t gradient;
  std::int64_t size;
  bool wide;  ///< f32 in a 16-bit step
};

class parameters {
 public:
  /// `result` is the step under construction.
  parameters(step& result, const training& how) : result_(result), how_(how) {}

  /// Adds a parameter whose gradient the step has just written. Returns the call that accumulates
  /// the gradient, if gradients are accumulated over steps.
  [[nodiscard]] std::vector<call> add(parameter of) {
    std::vector<call> calls;
    if (how_.zeroed) {
      const std::size_t sum = result_.new_tensor();
      calls.push_back({of.name + "_grad",
                       rule(op::update_rule::accumulate, {of}),
                       op::pass::fwd,
                       {sum, of.gradient, sum}});
      of.gradient = sum;
    }
    all_.push_back(std::move(of));
    return calls;
  }

  [[nodiscard]] const std::vector<parameter>& all() const { return all_; }

  /// The calls that set accumulated gradients to 0.
  [[nodiscard]] std::vector<call> zeros() const {
    std::vector<call> calls;
    if (!how_.zeroed) return calls;
    for (const std::vector<parameter>& of : by_call()) {
      std::vector<std::size_t> sums;
      for (const parameter& one : of) sums.push_back(one.gradient);
      calls.push_back(
          {name_of(of) + "_zero", rule(op::update_rule::zero, of), op::pass::fwd, std::move(sums)});
    }
    return calls;
  }

  /// The optimizer's calls for all weights.
  [[nodiscard]] std::vector<call> updates() {
    std::vector<call> calls;
    for (const std::vector<parameter>& of : by_call()) {
      std::vector<std::size_t> tensors;
      for (const parameter& one : of) add_update(one, tensors);
      calls.push_back({name_of(of), rule(how_.rule, of), op::pass::fwd, std::move(tensors)});
    }
    return calls;
  }

 private:
  /// Parameters by update call: one per call, or if fused all in one, with the wide ones in
  /// another.
  [[nodiscard]] std::vector<std::vector<parameter>> by_call() const {
    std::vector<std::vector<parameter>> calls;
    for (const parameter& one : all_) {
      const auto same = std::ranges::find_if(
          calls, [&](const auto& of) { return how_.fused && of.front().wide == one.wide; });
      if (same == calls.end()) {
        calls.push_back({one});
      } else {
        same->push_back(one);
      }
    }
    return calls;
  }

  [[nodiscard]] std::string name_of(const std::vector<parameter>& of) const {
    if (!how_.fused) return of.front().name;
    return of.front().wide ? "all_wide" : "all";
  }

  [[nodiscard]] op::any rule(op::update_rule which, const std::vector<parameter>& of) const {
    op::update result{.rule = which, .sizes = {}, .wide = of.front().wide};
    if (which == how_.rule) result.rate = how_.rate;
    for (const parameter& one : of) result.sizes.push_back(one.size);
    return op::any(std::move(result));
  }

  /// Adds the operands of one tensor's update. In 16 bits the f32 weights are a separate tensor.
  void add_update(const parameter& of, std::vector<std::size_t>& tensors) {
    const bool fine = of.wide || traits(result_.type).bytes >= traits(dtype::f32).bytes;
    named_tensors names{{"weights", fine ? of.weights : keep_copy(of.weights)},
                        {"diff_weights", of.gradient},
                        {"weights16", of.weights}};
    const op::any single = rule(how_.rule, {of});
    for (const op::operand& operand : single.operands(op::pass::fwd, result_.type)) {
      std::string name(operand.name);
      if (name.starts_with("new_")) name.erase(0, 4);
      if (operand.role == op::role::statistics) {
        op::operand at_rest = operand;
        at_rest.low = at_rest.high = 0;
        names[name] = result_.keep_tensor(at_rest, {});
      }
      tensors.push_back(names.at(name));
    }
  }

  /// The f32 weights of which those in `tensor` are copies in 16 bits.
  std::size_t keep_copy(std::size_t tensor) {
    kept_tensor same = *std::ranges::find(result_.kept, tensor, &kept_tensor::tensor);
    same.tensor = result_.new_tensor();
    same.logical.type = dtype::f32;
    result_.kept.push_back(same);
    return same.tensor;
  }

  step& result_;
  training how_;
  std::vector<parameter> all_;
};

}  // namespace layerbench::model::detail
