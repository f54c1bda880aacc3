// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/op/attention.hpp>
#include <layerbench/session/verify.hpp>

/// A backend whose attention keeps scores, probabilities and sums in some types, and the verdict of
/// verify().
namespace layerbench::rounded_attention {

struct arithmetic {
  dtype scores = dtype::f32;
  dtype probabilities = dtype::f32;
  dtype sums = dtype::f32;
};

struct backend : reference::backend {
  static constexpr std::string_view name = "rounded_attention";

  using reference::backend::backend;

  static inline arithmetic uses;
};

}  // namespace layerbench::rounded_attention

namespace layerbench {

/// Of one head.
template <>
class plan<rounded_attention::backend, op::attention>
    : public plan<reference::backend, op::attention> {
 public:
  plan(rounded_attention::backend& device, const op::attention& op, const plan_request& request)
      : plan<reference::backend, op::attention>(device, op, request),
        op_(op),
        type_(request.type) {}

  void run(const binding& bound) const {
    const auto depth = static_cast<std::size_t>(op_.d);
    const std::span<const float> values = bound.inputs[2].memory();
    std::vector<double> weights(static_cast<std::size_t>(op_.k));
    for (std::size_t i = 0; i < bound.outputs[3].size(); ++i) {
      if (i % depth == 0) weigh(bound, bound.inputs[0].memory().subspan(i, depth), weights);
      double sum = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        sum = round_to(uses().sums, sum + weights[j] * values[j * depth + i % depth]);
      }
      bound.outputs[3][i] = static_cast<float>(round_to(type_, sum));
    }
  }

 private:
  static const rounded_attention::arithmetic& uses() { return rounded_attention::backend::uses; }

  /// The probabilities of a query.
  void weigh(const binding& bound, std::span<const float> query,
             std::vector<double>& weights) const {
    const auto depth = static_cast<std::size_t>(op_.d);
    for (std::size_t j = 0; j < weights.size(); ++j) {
      double score = 0;
      for (std::size_t c = 0; c < depth; ++c) {
        score += static_cast<double>(query[c]) * bound.inputs[1][j * depth + c];
      }
      weights[j] = round_to(uses().scores, score / std::sqrt(static_cast<double>(op_.d)));
    }
    const double largest = std::ranges::max(weights);
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - largest);
    for (double& weight : weights) weight = round_to(uses().probabilities, weight / total);
  }

  op::attention op_;
  dtype type_;
};

static_assert(implements<rounded_attention::backend, op::attention>);

namespace session_verify_attention_test {

using rounded_attention::arithmetic;

/// Numbers of keys, up to those of a long text.
constexpr std::array<std::int64_t, 3> lengths{64, 256, 1024};

bool is_right(const arithmetic& uses, std::int64_t keys, dtype type) {
  rounded_attention::backend::uses = uses;
  run::backend_device<rounded_attention::backend, op::attention> device(1);
  const op::attention op{.q = 16, .k = keys, .d = 64};
  const auto plan = device.plan(op::any(op), {.type = type});
  try {
    run::verify(device, *plan, reference::exact_value_of(op, op::pass::fwd), 1, true);
  } catch (const run::wrong_result&) {
    return false;
  }
  return true;
}

class verified_attention : public ::testing::TestWithParam<dtype> {};

TEST_P(verified_attention, may_round_probabilities) {
  for (const std::int64_t keys : lengths) {
    EXPECT_TRUE(is_right({}, keys, GetParam())) << keys;
    EXPECT_TRUE(is_right({.probabilities = GetParam()}, keys, GetParam())) << keys;
  }
}

TEST_P(verified_attention, must_not_round_scores) {
  for (const std::int64_t keys : lengths) {
    EXPECT_FALSE(is_right({.scores = GetParam()}, keys, GetParam())) << keys;
  }
}

TEST_P(verified_attention, must_not_round_sums) {
  for (const std::int64_t keys : lengths) {
    EXPECT_FALSE(is_right({.sums = GetParam()}, keys, GetParam())) << keys;
  }
}

INSTANTIATE_TEST_SUITE_P(run, verified_attention, ::testing::Values(dtype::bf16, dtype::f16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace session_verify_attention_test
}  // namespace layerbench
