// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::reference {

template <>
struct formula<op::update> {
  [[nodiscard]] static sum at(const op::update& o, op::pass /*pass*/, tensors in,
                              std::size_t output, std::int64_t index) {
    const std::size_t operands_per_tensor = in.size() / o.sizes.size();
    const std::size_t first = output / operands_per_tensor * operands_per_tensor;
    const auto value = [&](std::size_t operand) -> double {
      return in[first + operand][static_cast<std::size_t>(index)];
    };
    if (o.rule == op::update_rule::zero) return {};
    if (o.rule == op::update_rule::accumulate) {
      sum total;
      total.add(value(0));
      total.add(value(1));
      return total;
    }
    const std::size_t result = output - first - 2 - o.states();
    const double weight = value(0);
    const double gradient = value(1);
    sum moment;
    sum second;
    sum step;
    switch (o.rule) {
      default:
      case op::update_rule::sgd: step.add(gradient); break;
      case op::update_rule::momentum:
        moment.add(op::update::beta1 * value(2));
        moment.add(gradient);
        moment.add(op::update::decay * weight);
        step = moment;
        break;
      case op::update_rule::adam:
        moment.add(op::update::beta1 * value(2));
        moment.add((1 - op::update::beta1) * gradient);
        second.add(op::update::beta2 * value(3));
        second.add((1 - op::update::beta2) * gradient * gradient);
        step.value = moment.value / (std::sqrt(second.value) + op::update::epsilon);
        step.magnitude = moment.magnitude / (std::sqrt(second.value) + op::update::epsilon);
        step.squares = step.magnitude * step.magnitude;
        step.terms = 4;
    }
    if (result == 1 && o.states() > 0) return moment;
    if (result == 2 && o.states() > 1) return second;
    sum total;
    total.add(weight);
    total.value -= o.rate * step.value;
    total.magnitude += o.rate * step.magnitude;
    total.squares += o.rate * o.rate * step.squares;
    total.terms += step.terms;
    return total;
  }
};

static_assert(implements<backend, op::update>);

}  // namespace layerbench::reference
