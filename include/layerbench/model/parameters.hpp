// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/update.hpp>

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
  [[nodiscard]] std::vector<call> add(parameter of);

  [[nodiscard]] const std::vector<parameter>& all() const { return all_; }

  /// The calls that set accumulated gradients to 0.
  [[nodiscard]] std::vector<call> zeros() const;

  /// The optimizer's calls for all weights.
  [[nodiscard]] std::vector<call> updates();

 private:
  /// Parameters by update call: one per call, or if fused all in one, with the wide ones in
  /// another.
  [[nodiscard]] std::vector<std::vector<parameter>> by_call() const;

  [[nodiscard]] std::string name_of(const std::vector<parameter>& of) const;

  [[nodiscard]] op::any rule(op::update_rule which, const std::vector<parameter>& of) const;

  /// Adds the operands of one tensor's update. In 16 bits the f32 weights are a separate tensor.
  void add_update(const parameter& of, std::vector<std::size_t>& tensors);

  /// The f32 weights of which those in `tensor` are copies in 16 bits.
  std::size_t keep_copy(std::size_t tensor);

  step& result_;
  training how_;
  std::vector<parameter> all_;
};

}  // namespace layerbench::model::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/parameters-inl.hpp>
#endif
