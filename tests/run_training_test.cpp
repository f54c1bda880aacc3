// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/list.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/reorders.hpp>

#include "support/temporary_directory.hpp"

/// Chains of training steps really train, and do so alike on every backend.
namespace layerbench::run {
namespace {

using losses = std::vector<double>;

template <backend B>
std::shared_ptr<arena> make_arena(int threads) {
  const auto make = [&]<class... Ops>(op::list<Ops...> /*all*/) {
    return std::make_unique<backend_device<B, Ops...>>(threads);
  };
  return std::make_shared<arena>(make(op::builtin{}));
}

/// A task that can be learned: images of a class are alike, but for noise.
struct task {
  std::vector<float> images;
  std::vector<float> classes;

  task(const dims& extents, std::int64_t kinds) {
    const auto pixels = static_cast<std::size_t>(elements(extents) / extents.front());
    random_bits bits(5);
    const auto uniform = [&] { return static_cast<float>(bits() >> 40U) * 0x1p-23F - 1; };
    std::vector<std::vector<float>> patterns(static_cast<std::size_t>(kinds));
    for (auto& each : patterns) {
      for (std::size_t i = 0; i < pixels; ++i) each.push_back(uniform());
    }
    for (std::int64_t n = 0; n < extents.front(); ++n) {
      const auto kind = static_cast<std::size_t>(n % kinds);
      classes.push_back(static_cast<float>(kind));
      for (const float each : patterns[kind]) images.push_back(each + 0.1F * uniform());
    }
  }
};

/// The losses of so many steps on a backend.
/// Images lie as nchw: fully connected layers read them as they lie, and only so do equal weights
/// mean the same.
template <backend B>
losses train(const model::graph& graph, dtype type, const model::training& how, int steps,
             std::int64_t kinds) {
  const std::shared_ptr<arena> memory = make_arena<B>(1);
  const plan_request request{.type = type, .order = layout::nchw};
  const model::step step = with_reorders(model::training_step(graph, type, {"activation"}, how),
                                         memory->here(), request);
  chain whole(memory, step, request, 3);
  whole.activate();
  const auto loss = std::ranges::find_if(
      step.calls, [](const model::call& each) { return each.op.name() == "cross_entropy"; });
  const task all(graph.layers.front().op.operands(op::pass::fwd, type).front().extents, kinds);
  losses found;
  for (int i = 0; i < steps; ++i) {
    whole.write(model::input_tensor, all.images);
    whole.write(1, all.classes);
    whole.run(0, whole.layers());
    found.push_back(whole.read(loss->tensors.back()).front());
  }
  return found;
}

constexpr int steps = 20;

/// How far apart the losses of two backends may be: both round, and rounding grows from step to
/// step.
void expect_alike(const losses& found, const losses& truth, double tolerance) {
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], truth[i], tolerance * (1 + truth[i])) << "step " << i;
  }
}

template <backend... Bs>
void train_everywhere(const model::graph& graph, const model::training& how, std::int64_t kinds,
                      backend_list<Bs...> /*built*/) {
  const losses truth = train<reference::backend>(graph, dtype::f32, how, steps, kinds);
  EXPECT_NEAR(truth.front(), std::log(static_cast<double>(kinds)), 2.5) << "it knows nothing yet";
  EXPECT_LT(truth.back(), 0.5 * truth.front());
  const auto compare = [&]<backend B>(std::type_identity<B> /*tag*/) {
    if constexpr (!std::is_same_v<B, reference::backend>) {
      expect_alike(train<B>(graph, dtype::f32, how, steps, kinds), truth, 1e-3);
    }
  };
  (compare(std::type_identity<Bs>{}), ...);
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
  train_everywhere(lenet, {.rule = op::update_rule::momentum, .rate = 0.001}, 2, built_backends{});
}

TEST(TrainingChain, In16BitsLearnsTheSame) {
  const testing::temporary_directory here;
  const model::graph net = model::load(here.write("residual.json", residual));
  for (const bool fused : {false, true}) {
    const model::training how{op::update_rule::momentum, fused};
    const losses truth = train<reference::backend>(net, dtype::f32, how, steps, 3);
    const auto compare = [&]<backend B>(std::type_identity<B> /*tag*/) {
      expect_alike(train<B>(net, dtype::bf16, how, steps, 3), truth, 0.1);
    };
    const auto everywhere = [&]<backend... Bs>(backend_list<Bs...> /*built*/) {
      (compare(std::type_identity<Bs>{}), ...);
    };
    everywhere(built_backends{});
  }
}

TEST(TrainingChain, OfAResidualNetLearnsAlikeOnAllBackends) {
  const testing::temporary_directory here;
  const model::graph net = model::load(here.write("residual.json", residual));
  for (const op::update_rule rule :
       {op::update_rule::sgd, op::update_rule::momentum, op::update_rule::adam}) {
    for (const bool fused : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", name(rule), fused ? "fused" : "tensor by tensor"));
      const double rate = rule == op::update_rule::sgd ? 0.1 : 0.01;
      train_everywhere(net, {rule, fused, rate}, 3, built_backends{});
    }
  }
}

}  // namespace
}  // namespace layerbench::run
