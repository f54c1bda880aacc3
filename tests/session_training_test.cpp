// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>

#include "support/temporary_directory.hpp"
#include "support/training.hpp"

/// Chains of training steps really train, and do so alike on every backend.
namespace layerbench::run {
namespace run_training_test {

using testing::expect_alike;
using testing::lesson;
using testing::train;

/// Images lie as nchw: fully connected layers read them as they lie, and only so do equal weights
/// mean the same.
lesson taught(const model::training& how, std::int64_t kinds, dtype type = dtype::f32) {
  return {.request = {.type = type, .order = layout::nchw}, .how = how, .kinds = kinds};
}

void train_everywhere(const model::graph& graph, const model::training& how, std::int64_t kinds) {
  const auto end_to_end = train<reference::backend>(graph, taught(how, kinds)).losses;
  const double guessing = std::log(static_cast<double>(kinds));
  EXPECT_GT(end_to_end.front(), 0.5 * guessing) << "it cannot know yet";
  EXPECT_LT(end_to_end.back(), std::min(guessing, 0.5 * end_to_end.front()))
      << "it has not learned";
  testing::on_all_backends([&]<backend B>(std::type_identity<B> /*tag*/) {
    if constexpr (!std::is_same_v<B, reference::backend>) {
      expect_alike(train<B>(graph, taught(how, kinds)).losses, end_to_end, 1e-3);
    }
  });
}

constexpr auto residual = R"({"name": "residual", "layers": [
  {"name": "stem", "op": "conv",
   "shape": {"n": 6, "c": 3, "h": 8, "w": 8, "k": 16, "r": 3, "s": 3, "pad": 1}},
  {"name": "stem_bn", "op": "batchnorm", "shape": {"n": 6, "c": 16, "h": 8, "w": 8}},
  {"name": "stem_relu", "op": "activation", "shape": {"kind": "relu", "dims": [6, 16, 8, 8]}},
  {"name": "pool", "op": "pool",
   "shape": {"kind": "max", "n": 6, "c": 16, "h": 8, "w": 8, "r": 3, "s": 3, "stride": 2, "pad": 1}},
  {"name": "conv1", "op": "conv",
   "shape": {"n": 6, "c": 16, "h": 4, "w": 4, "k": 16, "r": 3, "s": 3, "pad": 1}},
  {"name": "bn1", "op": "batchnorm", "shape": {"n": 6, "c": 16, "h": 4, "w": 4}},
  {"name": "relu1", "op": "activation", "shape": {"kind": "relu", "dims": [6, 16, 4, 4]}},
  {"name": "conv2", "op": "conv",
   "shape": {"n": 6, "c": 16, "h": 4, "w": 4, "k": 16, "r": 1, "s": 1}},
  {"name": "sum", "op": "add", "after": ["conv2", "pool"], "shape": {"dims": [6, 16, 4, 4]}},
  {"name": "relu2", "op": "activation", "shape": {"kind": "relu", "dims": [6, 16, 4, 4]}},
  {"name": "mean", "op": "pool",
   "shape": {"kind": "average", "n": 6, "c": 16, "h": 4, "w": 4, "r": 4, "s": 4, "stride": 1}},
  {"name": "fc", "op": "gemm",
   "shape": {"m": 6, "n": 3, "k": 16, "b_transposed": true, "bias": true}},
  {"name": "prob", "op": "softmax", "shape": {"dims": [6, 3]}}
]})";

TEST(TrainingChain, OfLenetLearnsAlikeOnAllBackends) {
  const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 2);
  train_everywhere(lenet, {.rule = op::update_rule::momentum, .rate = 0.001}, 2);
}

TEST(TrainingChain, IsGivenOtherRightClassesEachStep) {
  const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 8);
  const std::shared_ptr<device_context> memory = testing::make_context<reference::backend>(1);
  chain whole(memory, model::training_step(lenet, dtype::f32), {}, 3);
  std::set<std::vector<float>> seen;
  for (int i = 0; i < 4; ++i) {
    whole.set_up();
    const std::vector<float> classes = whole.read(1);
    EXPECT_THAT(classes, ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(10))));
    seen.insert(classes);
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST(TrainingChain, In16BitsLearnsTheSame) {
  const testing::temporary_directory directory;
  const model::graph net = model::load(directory.write("residual.json", residual));
  for (const bool fused : {false, true}) {
    const model::training how{op::update_rule::momentum, fused, 0.01};
    const auto end_to_end = train<reference::backend>(net, taught(how, 3)).losses;
    testing::on_all_backends([&]<backend B>(std::type_identity<B> /*tag*/) {
      expect_alike(train<B>(net, taught(how, 3, dtype::bf16)).losses, end_to_end, 0.1);
    });
  }
}

TEST(TrainingChain, OfSeveralRanksAddsUpEveryGradient) {
  const testing::temporary_directory directory;
  const std::vector<model::graph> nets{
      model::load(directory.write("residual.json", residual)),
      model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 2)};
  for (const model::graph& net : nets) {
    for (const bool zeroed : {false, true}) {
      // Twice the gradient with half the rate.
      const model::training alone{.rule = op::update_rule::sgd, .rate = 0.02, .zeroed = zeroed};
      model::training together = alone;
      together.rate = alone.rate / 2;
      together.ranks = 2;
      testing::on_all_backends([&]<backend B>(std::type_identity<B> /*tag*/) {
        expect_alike(train<B>(net, taught(together, 2)).losses,
                     train<B>(net, taught(alone, 2)).losses, 1e-3);
      });
    }
  }
}

/// Runs posted collectives as late as possible.
struct late_collectives final : background_collectives {
  std::vector<bound_plan*> waiting = {};
  std::size_t sent = 0;

  void post(bound_plan& collective) override { waiting.push_back(&collective); }
  void wait_for_posted() override {
    for (bound_plan* plan : waiting) plan->run();
    sent += waiting.size();
    waiting.clear();
  }
};

TEST(TrainingChain, OfSeveralRanksMaySendWhileItComputes) {
  const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 2);
  lesson taught_together = taught({.rule = op::update_rule::sgd, .rate = 0.001, .ranks = 2}, 2);
  testing::on_all_backends([&]<backend B>(std::type_identity<B> /*tag*/) {
    late_collectives late;
    taught_together.beside = nullptr;
    const auto end_to_end = train<B>(lenet, taught_together).losses;
    taught_together.beside = &late;
    expect_alike(train<B>(lenet, taught_together).losses, end_to_end, 1e-6);
    EXPECT_EQ(late.sent, 2 * end_to_end.size()) << "two buckets a step";
  });
}

TEST(TrainingChain, OfAResidualNetLearnsAlikeOnAllBackends) {
  const testing::temporary_directory directory;
  const model::graph net = model::load(directory.write("residual.json", residual));
  for (const op::update_rule rule :
       {op::update_rule::sgd, op::update_rule::momentum, op::update_rule::adam}) {
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", name(rule), fused ? "fused" : "tensor by tensor"));
      const double rate = rule == op::update_rule::sgd ? 0.1 : 0.01;
      train_everywhere(net, {rule, fused, rate}, 3);
    }
  }
}

}  // namespace run_training_test
}  // namespace layerbench::run
