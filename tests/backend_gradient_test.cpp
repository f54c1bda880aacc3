// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/op/test_data.hpp>

#include "support/random_ops.hpp"

/// Backward formulas against central differences of the forward ones.
namespace layerbench {
namespace backend_gradient_test {

using testing::dice;
using operands = std::map<std::string, std::vector<float>, std::less<>>;

/// Output `output` of a pass, element by element, in double precision. Inputs are found by name.
template <class Op>
std::vector<double> evaluate(const Op& o, op::pass pass, const operands& known,
                             std::size_t output) {
  const std::vector<op::operand> all = o.operands(pass, dtype::f32);
  std::vector<reference::tensor> in(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].role != op::role::destination) in[i] = known.at(std::string(all[i].name));
  }
  std::vector<double> values(static_cast<std::size_t>(elements(all[output].extents)));
  const auto exact = reference::evaluate(o, pass, in);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = exact(output, static_cast<std::int64_t>(i)).value;
  }
  return values;
}

/// A random call of an op in training, and the scalar sum(diff_dst * dst) whose gradients the
/// backward passes give.
template <class Op>
class training_call {
 public:
  training_call(const Op& o, std::uint64_t seed) : op_(o) {
    const std::vector<op::pass> passes = op::passes(o);
    const bool differs = std::ranges::find(passes, op::pass::fwd_training) != passes.end();
    forward_ = differs ? op::pass::fwd_training : op::pass::fwd;
    const std::vector<op::operand> all = o.operands(forward_, dtype::f32);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name(all[i].name);
      if (name == "dst") {
        dst_ = i;
        known_["diff_dst"] = run::random_values(all[i], run::operand_seed(seed, i));
      }
      if (all[i].role == op::role::destination) continue;
      known_[name] = run::random_values(all[i], run::operand_seed(seed, i));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].role != op::role::destination) continue;
      const std::vector<double> values = evaluate(o, forward_, known_, i);
      known_[std::string(all[i].name)] = {values.begin(), values.end()};
    }
  }

  /// Checks some elements of each gradient. Returns how many.
  int check(dice& d) {
    int checked = 0;
    for (const op::pass pass : op::passes(op_)) {
      if (!op::is_backward(pass)) continue;
      const std::vector<op::operand> all = op_.operands(pass, dtype::f32);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].role != op::role::destination) continue;
        const std::string of(all[i].name.substr(std::string("diff_").size()));
        const std::vector<double> gradient = evaluate(op_, pass, known_, i);
        for (int j = 0; j < elements_a_gradient; ++j) {
          const auto at = static_cast<std::size_t>(
              d.between(0, static_cast<std::int64_t>(gradient.size()) - 1));
          checked += check_element(of, at, gradient[at]) ? 1 : 0;
        }
      }
    }
    return checked;
  }

 private:
  static constexpr int elements_a_gradient = 5;

  [[nodiscard]] double scalar_with(const std::string& operand, std::size_t at, float value) {
    const float before = std::exchange(known_.at(operand).at(at), value);
    const std::vector<double> dst = evaluate(op_, forward_, known_, dst_);
    known_.at(operand)[at] = before;
    double sum = 0;
    for (std::size_t i = 0; i < dst.size(); ++i) sum += dst[i] * known_.at("diff_dst")[i];
    return sum;
  }

  /// False at a bend of the function, where there is no derivative.
  bool check_element(const std::string& operand, std::size_t at, double gradient) {
    const float x = known_.at(operand).at(at);
    const float step = 0x1p-9F;
    const float above = x + step;
    const float below = x - step;
    const double device = scalar_with(operand, at, x);
    const double up = scalar_with(operand, at, above);
    const double down = scalar_with(operand, at, below);
    const double right = (up - device) / (static_cast<double>(above) - x);
    const double left = (device - down) / (static_cast<double>(x) - below);
    const double central = (up - down) / (static_cast<double>(above) - below);
    if (std::abs(right - left) > 0.05 * (1 + std::abs(central))) return false;
    EXPECT_NEAR(gradient, central, 2e-3 * (1 + std::abs(central))) << operand << '[' << at << ']';
    return true;
  }

  Op op_;
  op::pass forward_ = op::pass::fwd;
  std::size_t dst_ = 0;
  operands known_;
};

template <class Op>
class gradient : public ::testing::Test {};

using differentiable =
    ::testing::Types<op::conv, op::deconv, op::gemm, op::embedding, op::pool, op::batchnorm,
                     op::resample, op::lrn, op::layernorm, op::groupnorm, op::rnn, op::attention,
                     op::rotary, op::activation, op::concat, op::multiply, op::pad, op::slice,
                     op::transpose, op::softmax, op::dropout>;
TYPED_TEST_SUITE(gradient, differentiable);

TYPED_TEST(gradient, is_what_central_differences_say) {
  constexpr int shapes = std::is_same_v<TypeParam, op::attention> ? 300 : 60;
  dice d(43);
  int checked = 0;
  for (int i = 0; i < shapes && !::testing::Test::HasFailure(); ++i) {
    const auto o = testing::random_op<TypeParam>(d);
    SCOPED_TRACE(key(o));
    checked += training_call<TypeParam>(o, static_cast<std::uint64_t>(i)).check(d);
  }
  EXPECT_GE(checked, 2 * shapes);
}

template <class Op>
class gradient_of_volumes : public ::testing::Test {};

using ops_of_volumes = ::testing::Types<op::conv, op::deconv, op::pool>;
TYPED_TEST_SUITE(gradient_of_volumes, ops_of_volumes);

TYPED_TEST(gradient_of_volumes, is_what_central_differences_say) {
  constexpr int shapes = 15;
  dice d(45);
  int checked = 0;
  for (int i = 0; i < shapes && !::testing::Test::HasFailure(); ++i) {
    const auto o = testing::random_volume_op<TypeParam>(d);
    SCOPED_TRACE(key(o));
    checked += training_call<TypeParam>(o, static_cast<std::uint64_t>(i)).check(d);
  }
  EXPECT_GE(checked, 2 * shapes);
}

TEST(gradient, of_the_loss_is_what_central_differences_say) {
  const op::cross_entropy o{3, 5};
  operands known{{"src", run::random_values(o.operands(op::pass::fwd, dtype::f32)[0], 1)},
                 {"target", {0, 4.5F, 2}}};
  const std::vector<double> probabilities = evaluate(o, op::pass::fwd, known, 2);
  known["dst"] = {probabilities.begin(), probabilities.end()};
  const std::vector<double> gradient = evaluate(o, op::pass::bwd, known, 2);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    constexpr float step = 0x1p-9F;
    const auto loss_at = [&](float x) {
      const float before = std::exchange(known["src"][i], x);
      const double loss = evaluate(o, op::pass::fwd, known, 3).front();
      known["src"][i] = before;
      return loss;
    };
    const float x = known["src"][i];
    EXPECT_NEAR(gradient[i], (loss_at(x + step) - loss_at(x - step)) / (2 * step), 1e-4);
  }
}

TEST(gradient, of_a_broadcast_sum_is_what_central_differences_say) {
  dice d(44);
  for (const bool broadcast : {true, false}) {
    const op::add o{{3, 2, 5}, broadcast, !broadcast};
    EXPECT_GE(training_call<op::add>(o, 7).check(d), 5);
  }
}

TEST(gradient, is_handed_on_by_an_add_and_absent_from_a_reorder) {
  EXPECT_TRUE(op::any(op::add{{2}}).passes_gradient_through());
  const op::any reorder(op::reorder{{2, 3}, "ab", "ba"});
  EXPECT_FALSE(reorder.passes_gradient_through());
  EXPECT_EQ(reorder.passes(), std::vector{op::pass::fwd});
}

}  // namespace backend_gradient_test
}  // namespace layerbench
