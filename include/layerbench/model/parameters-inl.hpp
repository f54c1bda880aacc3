// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/parameters.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::model {

namespace detail {

LAYERBENCH_INLINE std::vector<call> parameters::add(parameter of) {
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

LAYERBENCH_INLINE std::vector<call> parameters::zeros() const {
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

LAYERBENCH_INLINE std::vector<call> parameters::updates() {
  std::vector<call> calls;
  for (const std::vector<parameter>& of : by_call()) {
    std::vector<std::size_t> tensors;
    for (const parameter& one : of) add_update(one, tensors);
    calls.push_back({name_of(of), rule(how_.rule, of), op::pass::fwd, std::move(tensors)});
  }
  return calls;
}

LAYERBENCH_INLINE std::vector<std::vector<parameter>> parameters::by_call() const {
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

LAYERBENCH_INLINE std::string parameters::name_of(const std::vector<parameter>& of) const {
  if (!how_.fused) return of.front().name;
  return of.front().wide ? "all_wide" : "all";
}

LAYERBENCH_INLINE op::any parameters::rule(op::update_rule which,
                                           const std::vector<parameter>& of) const {
  op::update result{.rule = which, .sizes = {}, .wide = of.front().wide};
  if (which == how_.rule) result.rate = how_.rate;
  for (const parameter& one : of) result.sizes.push_back(one.size);
  return op::any(std::move(result));
}

LAYERBENCH_INLINE void parameters::add_update(const parameter& of,
                                              std::vector<std::size_t>& tensors) {
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

LAYERBENCH_INLINE std::size_t parameters::keep_copy(std::size_t tensor) {
  kept_tensor same = *std::ranges::find(result_.kept, tensor, &kept_tensor::tensor);
  same.tensor = result_.new_tensor();
  same.logical.type = dtype::f32;
  result_.kept.push_back(same);
  return same.tensor;
}

}  // namespace detail
}  // namespace layerbench::model
