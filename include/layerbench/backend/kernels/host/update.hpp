// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::host {

/// Weight updates by layerbench loops, because libraries have none.
template <>
class own_plan<op::update> : public call_plan {
 public:
  own_plan(const op::update& o, const plan_request& request)
      : call_plan(algorithm_of(o.rule), o.operands(request.pass, request.type), request.layout),
        o_(o),
        type_(o.wide ? dtype::f32 : request.type) {
    require_number(type_);
  }

  void run(const binding& bound) const {
    with_number(type_, [&]<class T>(T /*tag*/) {
#pragma omp parallel
      for (std::size_t i = 0; i < o_.sizes.size(); ++i) {
        switch (o_.rule) {
          case op::update_rule::zero: zero<T>(bound, i); break;
          case op::update_rule::accumulate: accumulate<T>(bound, i); break;
          default: update<T>(bound, i);
        }
      }
    });
  }

 private:
  static std::string algorithm_of(op::update_rule rule) {
    switch (rule) {
      case op::update_rule::zero: return "layerbench:update_zero";
      case op::update_rule::accumulate: return "layerbench:update_accumulate";
      case op::update_rule::momentum: return "layerbench:update_momentum";
      case op::update_rule::adam: return "layerbench:update_adam";
      case op::update_rule::sgd: break;
    }
    return "layerbench:update_sgd";
  }

  // All threads of a team call these for tensor `i` and share its elements.

  template <class T>
  void zero(const binding& bound, std::size_t i) const {
    T* sum = at<T>(bound, i);
    parallel_for(o_.sizes[i], [=](std::int64_t j) { sum[j] = static_cast<T>(0.0F); });
  }

  template <class T>
  void accumulate(const binding& bound, std::size_t i) const {
    const T* sum = at<T>(bound, 3 * i);
    const T* gradient = at<T>(bound, 3 * i + 1);
    T* new_sum = at<T>(bound, 3 * i + 2);
    parallel_for(o_.sizes[i], [=](std::int64_t j) {
      new_sum[j] = static_cast<T>(static_cast<float>(sum[j]) + static_cast<float>(gradient[j]));
    });
  }

  template <class T>
  void update(const binding& bound, std::size_t i) const {
    const std::size_t states = o_.states();
    constexpr bool has_copy = !std::is_same_v<T, float>;
    const std::size_t first = i * (3 + 2 * states + (has_copy ? 1 : 0));
    const std::size_t results = first + 2 + states;
    const auto* weights = at<float>(bound, first);
    const auto* gradient = at<T>(bound, first + 1);
    auto* new_weights = at<float>(bound, results);
    T* copy = nullptr;
    if constexpr (has_copy) copy = at<T>(bound, results + 1 + states);
    const auto store = [=]([[maybe_unused]] std::int64_t j, float value) {
      new_weights[j] = value;
      if constexpr (has_copy) copy[j] = static_cast<T>(value);
    };
    const std::int64_t size = o_.sizes[i];
    const auto rate = static_cast<float>(o_.rate);
    constexpr auto beta1 = static_cast<float>(op::update::beta1);
    constexpr auto beta2 = static_cast<float>(op::update::beta2);
    constexpr auto one_minus_beta1 = static_cast<float>(1 - op::update::beta1);
    constexpr auto one_minus_beta2 = static_cast<float>(1 - op::update::beta2);
    constexpr auto decay = static_cast<float>(op::update::decay);
    constexpr auto epsilon = static_cast<float>(op::update::epsilon);
    const auto* moment = states > 0 ? at<float>(bound, first + 2) : nullptr;
    auto* new_moment = states > 0 ? at<float>(bound, results + 1) : nullptr;
    const auto* second = states > 1 ? at<float>(bound, first + 3) : nullptr;
    auto* new_second = states > 1 ? at<float>(bound, results + 2) : nullptr;
    switch (o_.rule) {
      default:
      case op::update_rule::sgd:
        parallel_for(size, [=](std::int64_t j) {
          store(j, weights[j] - rate * static_cast<float>(gradient[j]));
        });
        break;
      case op::update_rule::momentum:
        parallel_for(size, [=](std::int64_t j) {
          const float updated =
              beta1 * moment[j] + static_cast<float>(gradient[j]) + decay * weights[j];
          new_moment[j] = updated;
          store(j, weights[j] - rate * updated);
        });
        break;
      case op::update_rule::adam:
        parallel_for(size, [=](std::int64_t j) {
          const auto g = static_cast<float>(gradient[j]);
          const float m = beta1 * moment[j] + one_minus_beta1 * g;
          const float v = beta2 * second[j] + one_minus_beta2 * g * g;
          new_moment[j] = m;
          new_second[j] = v;
          store(j, weights[j] - rate * m / (std::sqrt(v) + epsilon));
        });
        break;
    }
  }

  /// Calls `work(j)` for all elements, which the threads of a team share.
  template <class Work>
  static void parallel_for(std::int64_t size, const Work& work) {
#pragma omp for simd nowait
    for (std::int64_t j = 0; j < size; ++j) work(j);
  }

  op::update o_;
  dtype type_;
};

}  // namespace layerbench::host
