// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/forward_results.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/op/lrn.hpp>

/// A library that computes nothing, and whether its backward pass finds what its forward pass left.
namespace layerbench::keeping {

constexpr std::size_t workspace_bytes = 1000;

struct backend : reference::backend {
  static constexpr std::string_view name = "keeping";

  using reference::backend::backend;

  static inline int backward_calls = 0;
  static inline int without_forward = 0;  ///< those that found something else in their workspace
  static inline std::size_t lacking = 0;  ///< bytes that the backward pass lacks
};

}  // namespace layerbench::keeping

namespace layerbench {

template <>
class plan<keeping::backend, op::lrn> : public plan<reference::backend, op::lrn> {
 public:
  plan(keeping::backend& device, const op::lrn& op, const plan_request& request)
      : plan<reference::backend, op::lrn>(device, op, request),
        pass_(request.pass),
        operands_(plan<reference::backend, op::lrn>::operands()) {
    const std::size_t lacking = pass_ == op::pass::bwd ? keeping::backend::lacking : 0;
    for (plan_operand& operand : operands_) {
      if (operand.logical.opaque) operand.bytes = keeping::workspace_bytes - lacking;
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  using binding = std::vector<address>;
  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places.begin(), places.end()};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.assign(places.begin(), places.end());
  }
  /// The forward pass copies the first number of its source to all of the workspace.
  void run(const binding& bound) const {
    if (pass_ == op::pass::fwd) return;
    if (pass_ == op::pass::bwd) {
      const std::span kept(static_cast<const float*>(bound[3]),
                           keeping::workspace_bytes / sizeof(float));
      const bool found = kept[0] != 0 && std::abs(kept[0]) <= 1 &&
                         std::ranges::count(kept, kept[0]) == std::ssize(kept);
      ++keeping::backend::backward_calls;
      keeping::backend::without_forward += found ? 0 : 1;
    } else {
      std::fill_n(static_cast<float*>(bound[2]), keeping::workspace_bytes / sizeof(float),
                  *static_cast<const float*>(bound[0]));
    }
  }

 private:
  op::pass pass_;
  std::vector<plan_operand> operands_;
};

static_assert(implements<keeping::backend, op::lrn>);

namespace run::opaque_test {

class OpaqueOperand : public ::testing::Test {
 protected:
  OpaqueOperand() {
    keeping::backend::backward_calls = 0;
    keeping::backend::without_forward = 0;
    keeping::backend::lacking = 0;
  }

  op::lrn o_{2, 3, 4, 4, 3};
  std::shared_ptr<device_context> context_ = std::make_shared<device_context>(
      std::make_unique<backend_device<keeping::backend, op::lrn>>(1));
};

TEST_F(OpaqueOperand, HasNoValuesButTheBytesOfItsPlan) {
  const op::operand workspace = o_.operands(op::pass::bwd, dtype::f32)[3];
  EXPECT_EQ(elements(workspace.extents), 0);
  EXPECT_TRUE(op::needs_values(workspace));
  EXPECT_FALSE(op::needs_values(o_.operands(op::pass::fwd_training, dtype::f32)[2]));
  const auto plan = context_->device().plan(op::any(o_), {.pass = op::pass::bwd});
  EXPECT_EQ(plan->operands()[3].bytes, keeping::workspace_bytes);
}

TEST_F(OpaqueOperand, IsReadOfAForwardPassThatOnlyBackwardPlansHave) {
  const auto forward_of = [&](op::pass pass) {
    return context_->device().plan(op::any(o_), {.pass = pass})->forward();
  };
  EXPECT_EQ(forward_of(op::pass::fwd), nullptr);
  EXPECT_EQ(forward_of(op::pass::fwd_training), nullptr);
  ASSERT_NE(forward_of(op::pass::bwd), nullptr);
  EXPECT_EQ(forward_of(op::pass::bwd)->operands().size(), 3U);
}

TEST_F(OpaqueOperand, HoldsInEverySlotWhatAForwardPassWrote) {
  for (const cache_state cache : {cache_state::hot, cache_state::model, cache_state::cold}) {
    SCOPED_TRACE(name(cache));
    const auto plan = context_->device().plan(op::any(o_), {.pass = op::pass::bwd});
    constexpr std::int64_t footprint = 100'000;
    operand_ring ring(*context_, *plan, {.cache = cache, .footprint = footprint}, 1);
    ring.warm_shared_cache();
    keeping::backend::backward_calls = 0;
    for (int i = 0; i < 40; ++i) {
      ring.set_up(1);
      ring.call(1);
    }
    EXPECT_EQ(keeping::backend::backward_calls, 40);
    EXPECT_EQ(keeping::backend::without_forward, 0);
  }
}

TEST_F(OpaqueOperand, ComesWithTheResultsOfTheForwardPassThatWroteIt) {
  const auto plan = context_->device().plan(op::any(o_), {.pass = op::pass::bwd});
  const auto count = static_cast<std::size_t>(elements({2, 3, 4, 4}));
  std::vector<reference::tensor> inputs{
      std::vector(count, 0.25F), std::vector(count, 7.0F), std::vector(count, 0.5F), {}, {}};
  std::vector<float> dst(count);
  std::vector<float> workspace(keeping::workspace_bytes / sizeof(float));
  const std::vector<address> places{nullptr, dst.data(), nullptr, workspace.data(), nullptr};
  write_forward_results(context_->device(), *plan, inputs, places, 1);
  EXPECT_EQ(workspace.back(), 0.25F) << "of the given source";
  EXPECT_TRUE(std::ranges::equal(inputs[0].memory(), std::vector(count, 0.25F)));
  EXPECT_TRUE(std::ranges::equal(inputs[1].memory(), dst));
}

TEST_F(OpaqueOperand, HasTheSameBytesInBothPasses) {
  keeping::backend::lacking = 8;
  const auto plan = context_->device().plan(op::any(o_), {.pass = op::pass::bwd});
  EXPECT_THROW(operand_ring(*context_, *plan, {}, 1), error);
}

}  // namespace run::opaque_test
}  // namespace layerbench
