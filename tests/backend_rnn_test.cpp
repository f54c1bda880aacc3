// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/forward_results.hpp>
#include <layerbench/op/rnn.hpp>
#include <layerbench/op/test_data.hpp>

#include "support/built_backends.hpp"
#include "support/random_ops.hpp"

/// Recurrent layers as one call of the library and as separate calls.
namespace layerbench::run {
namespace backend_rnn_test {

using ::testing::HasSubstr;
using ::testing::Not;

/// oneDNN's device; null if this build lacks it.
std::unique_ptr<compute_device> onednn() {
  const backend_entry* entry = testing::built_backends().find("onednn");
  return entry == nullptr ? nullptr : entry->make_device(1);
}

/// All results of a pass on test data, one tensor after the other.
std::vector<float> results(compute_device& device, const op::any& o, op::pass pass) {
  constexpr std::uint64_t seed = 7;
  const std::unique_ptr<any_plan> plan = device.plan(o, {.pass = pass});
  const std::vector<plan_operand>& operands = plan->operands();
  std::vector<reference::tensor> inputs(operands.size());
  std::vector<std::unique_ptr<device_memory>> memory;
  std::vector<address> places;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const op::operand& logical = operands[i].logical;
    memory.push_back(device.allocate(operands[i].bytes));
    places.push_back(memory.back()->data());
    if (logical.role == op::role::destination || logical.opaque) continue;
    inputs[i] = random_values(logical, operand_seed(seed, i));
    write(*plan, i, inputs[i], places[i]);
  }
  write_forward_results(device, *plan, inputs, places, seed);
  const std::unique_ptr<device_memory> workspace = device.allocate(plan->workspace_bytes());
  const std::unique_ptr<bound_plan> bound = plan->bound_to(places, workspace->data());
  device.activate();
  bound->run();
  bound->run();  // a call leaves nothing for the next one
  device.synchronize();
  std::vector<float> all;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const op::operand& logical = operands[i].logical;
    if (logical.role != op::role::destination || logical.opaque) continue;
    const std::vector<float> values = plan->downloaded(i, places[i]);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::string algorithm(compute_device& device, const op::any& o, op::pass pass) {
  return device.plan(o, {.pass = pass})->algorithm();
}

class rnn_forms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_) GTEST_SKIP() << "this build has no oneDNN";
  }

  std::unique_ptr<compute_device> device_ = onednn();
};

TEST_F(rnn_forms, have_equal_results_in_every_pass) {
  testing::dice d(11);
  for (int shape = 0; shape < 60; ++shape) {
    auto fused = testing::random_op<op::rnn>(d);
    fused.bidirectional = fused.bidirectional && fused.layers == 1;
    if (fused.layers > 1) fused.inputs = fused.hidden;
    const op::any o(fused);
    for (const op::pass pass : o.passes()) {
      SCOPED_TRACE(fmt::format("{} {}", op::name(pass), o.key()));
      const std::vector<float> expected = results(*device_, o, pass);
      const std::vector<float> found = results(*device_, o.called(op::manner::unfused), pass);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 2e-5 * (1 + std::abs(expected[i]))) << i;
      }
    }
  }
}

TEST_F(rnn_forms, differ_in_the_calls_of_the_library) {
  const op::any o(
      op::rnn{.kind = op::rnn_kind::lstm, .batch = 3, .steps = 4, .inputs = 8, .hidden = 16});
  for (const op::pass pass : o.passes()) {
    EXPECT_THAT(algorithm(*device_, o, pass), Not(HasSubstr("+")));
    EXPECT_THAT(algorithm(*device_, o.called(op::manner::unfused), pass), HasSubstr("+"));
  }
}

TEST_F(rnn_forms, say_which_of_them_lacks_what) {
  const op::any o(op::rnn{.inputs = 2, .layers = 2, .bidirectional = true});
  EXPECT_THROW(static_cast<void>(algorithm(*device_, o, op::pass::fwd)), unsupported);
  const op::any unfused = o.called(op::manner::unfused);
  EXPECT_NE(algorithm(*device_, unfused, op::pass::bwd), "");
  try {
    static_cast<void>(device_->plan(unfused, {.pass = op::pass::bwd, .type = dtype::bf16}));
    FAIL() << "gradients in 16 bits";
  } catch (const unsupported& gap) {
    EXPECT_THAT(gap.what(), HasSubstr("16 bits"));
  }
}

}  // namespace backend_rnn_test
}  // namespace layerbench::run
