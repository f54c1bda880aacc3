// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>

#include "support/temporary_directory.hpp"
#include "support/training.hpp"
#include "support/transformer.hpp"

/// Chains of training steps reduce the loss, by the same amounts on every backend.
namespace layerbench::run {
namespace session_training_test {

using testing::expect_alike;
using testing::lesson;
using testing::train;

/// Images are nchw: fully connected layers read them in memory order, so that equal weights mean
/// the same on all backends.
lesson taught(const model::training& how, std::int64_t kinds, dtype type = dtype::f32) {
  return {.request = {.type = type, .layout = layout::nchw}, .how = how, .kinds = kinds};
}

bool has_all_plans(const backend_entry& backend, const model::graph& graph) {
  const auto context = testing::make_context(backend, 1);
  return std::ranges::all_of(
      graph.layers, [&](const model::layer& of) { return context->device().implements_op(of.op); });
}

/// On all backends whose ops have plans in f32.
void train_everywhere(const model::graph& graph, const model::training& how, std::int64_t kinds,
                      bool on_gpus = true) {
  const auto end_to_end = train(testing::reference_backend(), graph, taught(how, kinds)).losses;
  const double guessing = std::log(static_cast<double>(kinds));
  EXPECT_GT(end_to_end.front(), 0.5 * guessing) << "it cannot know yet";
  EXPECT_LT(end_to_end.back(), std::min(guessing, 0.5 * end_to_end.front()))
      << "it has not learned";
  testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
    if (backend.name == "reference" || !(on_gpus || backend.on_host)) return;
    if (!has_all_plans(backend, graph)) return;
    expect_alike(train(backend, graph, taught(how, kinds)).losses, end_to_end, 1e-3);
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

/// Branches that are joined, squeeze-and-excitation, a depthwise convolution, padded channels and a
/// transposed convolution.
constexpr auto branches = R"({"name": "branches", "layers": [
  {"name": "stem", "op": "conv",
   "shape": {"n": 6, "c": 3, "h": 6, "w": 6, "k": 8, "r": 3, "s": 3, "pad": 1, "bias": true}},
  {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": [6, 8, 6, 6]}},
  {"name": "depthwise", "op": "conv",
   "shape": {"n": 6, "c": 8, "h": 6, "w": 6, "k": 8, "r": 3, "s": 3, "pad": 1, "groups": 8}},
  {"name": "pointwise", "op": "conv", "after": ["relu"],
   "shape": {"n": 6, "c": 8, "h": 6, "w": 6, "k": 5, "r": 1, "s": 1}},
  {"name": "join", "op": "concat", "after": ["depthwise", "relu", "pointwise"],
   "shape": {"dims": [6, 21, 6, 6], "sizes": [8, 8, 5]}},
  {"name": "squeeze", "op": "pool",
   "shape": {"kind": "average", "n": 6, "c": 21, "h": 6, "w": 6, "r": 6, "s": 6, "stride": 1}},
  {"name": "reduce", "op": "conv",
   "shape": {"n": 6, "c": 21, "h": 1, "w": 1, "k": 4, "r": 1, "s": 1, "bias": true}},
  {"name": "reduced", "op": "activation", "shape": {"kind": "relu", "dims": [6, 4, 1, 1]}},
  {"name": "expand", "op": "conv",
   "shape": {"n": 6, "c": 4, "h": 1, "w": 1, "k": 21, "r": 1, "s": 1, "bias": true}},
  {"name": "gate", "op": "activation", "shape": {"kind": "sigmoid", "dims": [6, 21, 1, 1]}},
  {"name": "excite", "op": "multiply", "after": ["join", "gate"],
   "shape": {"dims": [6, 21, 6, 6], "dims1": [6, 21, 1, 1]}},
  {"name": "pad", "op": "pad",
   "shape": {"dims": [6, 21, 6, 6], "before": [0, 1, 0, 0], "after": [0, 2, 0, 0]}},
  {"name": "wide", "op": "conv",
   "shape": {"n": 6, "c": 21, "h": 6, "w": 6, "k": 24, "r": 1, "s": 1}, "after": ["excite"]},
  {"name": "sum", "op": "add", "after": ["wide", "pad"], "shape": {"dims": [6, 24, 6, 6]}},
  {"name": "up", "op": "deconv",
   "shape": {"n": 6, "c": 24, "h": 6, "w": 6, "k": 10, "r": 3, "s": 3, "stride": 2, "pad": 1,
             "output_pad": 1, "bias": true}},
  {"name": "norm", "op": "batchnorm",
   "shape": {"n": 6, "c": 10, "h": 12, "w": 12, "scale": false}},
  {"name": "last", "op": "activation", "shape": {"kind": "relu", "dims": [6, 10, 12, 12]}},
  {"name": "mean", "op": "pool",
   "shape": {"kind": "average", "n": 6, "c": 10, "h": 12, "w": 12, "r": 12, "s": 12, "stride": 1}},
  {"name": "fc", "op": "gemm",
   "shape": {"m": 6, "n": 3, "k": 10, "b_transposed": true, "bias": true}}
]})";

TEST(TrainingChain, OfBranchesLearnsAlikeOnAllBackends) {
  const testing::temporary_directory directory;
  const model::graph net = model::load(directory.write("branches.json", branches));
  train_everywhere(net, {.rule = op::update_rule::momentum, .rate = 0.15}, 3);
}

TEST(TrainingChain, OfAnEmbeddingTrainsAlikeOnAllBackends) {
  const testing::temporary_directory directory;
  const model::graph net =
      model::load(directory.write("words.json", R"({"name": "words", "layers": [
    {"name": "words", "op": "embedding", "shape": {"n": 6, "rows": 4, "columns": 20}},
    {"name": "fc", "op": "gemm", "shape": {"m": 6, "n": 3, "k": 20, "bias": true}}
  ]})"));
  for (const dtype type : {dtype::f32, dtype::bf16}) {
    const lesson given = taught({.rule = op::update_rule::momentum, .rate = 0.05}, 3, type);
    const auto end_to_end = train(testing::reference_backend(), net, given).losses;
    testing::on_all_backends(type, [&](const backend_entry& backend) {
      expect_alike(train(backend, net, given).losses, end_to_end, type == dtype::f32 ? 1e-3 : 0.1);
    });
  }
}

TEST(TrainingChain, OfLenetHasTheSameLossesOnAllBackends) {
  const model::graph lenet =
      model::load(model::find("lenet5", model::default_shapes_directory()), 2);
  train_everywhere(lenet, {.rule = op::update_rule::momentum, .rate = 0.001}, 2);
}

constexpr auto normalised = R"({"name": "normalised", "layers": [
  {"name": "conv1", "op": "conv",
   "shape": {"n": 6, "c": 3, "h": 8, "w": 8, "k": 16, "r": 3, "s": 3, "pad": 1, "bias": true}},
  {"name": "relu1", "op": "activation", "shape": {"kind": "relu", "dims": [6, 16, 8, 8]}},
  {"name": "norm1", "op": "lrn",
   "shape": {"n": 6, "c": 16, "h": 8, "w": 8, "size": 5, "alpha": 0.5, "beta": 0.75, "k": 1}},
  {"name": "pool1", "op": "pool",
   "shape": {"kind": "max", "n": 6, "c": 16, "h": 8, "w": 8, "r": 2, "s": 2, "stride": 2}},
  {"name": "norm2", "op": "lrn", "shape": {"n": 6, "c": 16, "h": 4, "w": 4, "size": 3}},
  {"name": "fc", "op": "gemm",
   "shape": {"m": 6, "n": 3, "k": 256, "b_transposed": true, "bias": true}}
]})";

TEST(TrainingChain, OfLocalResponseNormalisationLearnsAlikeOnAllBackends) {
  const testing::temporary_directory directory;
  const model::graph net = model::load(directory.write("normalised.json", normalised));
  train_everywhere(net, {op::update_rule::momentum, false, 0.01}, 3);
}

TEST(TrainingChain, OfRecurrentLayersLearnsAlikeOnAllBackends) {
  const testing::temporary_directory directory;
  for (const std::string kind : {"vanilla", "lstm", "gru"}) {
    for (const int biases : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, {} biases", kind, biases));
      // One of the layers is unfused.
      // A sequence of nine tokens, the class of each.
      const model::graph net = model::load(
          directory.write("recurrent.json", fmt::format(R"({{"name": "recurrent", "layers": [
  {{"name": "rnn1", "op": "rnn", "shape": {{"kind": "{0}", "batch": 1, "steps": 9, "inputs": 12,
    "hidden": 8, "bidirectional": true, "biases": {1}, "unfused": true}}}},
  {{"name": "rnn2", "op": "rnn", "shape": {{"kind": "{0}", "batch": 1, "steps": 9, "inputs": 16,
    "hidden": 16, "layers": 2, "biases": {1}}}}},
  {{"name": "fc", "op": "gemm",
    "shape": {{"m": 9, "n": 3, "k": 16, "b_transposed": true, "bias": true}}}}
]}})",
                                                        kind, biases)));
      train_everywhere(net, {op::update_rule::adam, false, 0.03}, 3);
    }
  }
}

TEST(TrainingChain, OfATransformerBlockLearnsAlikeOnAllBackends) {
  const testing::temporary_directory directory;
  const model::graph net =
      model::load(directory.write("transformer_block.json", testing::transformer_block));
  const model::training how{.rule = op::update_rule::momentum, .rate = 0.05};
  train_everywhere(net, how, 3, false);  // cuDNN has attention in 16 bits alone
  const auto end_to_end = train(testing::reference_backend(), net, taught(how, 3)).losses;
  testing::on_all_backends(dtype::bf16, [&](const backend_entry& backend) {
    if (backend.name == "cudnn") {
      EXPECT_TRUE(has_all_plans(backend, net));
    }
    if (!has_all_plans(backend, net)) return;
    expect_alike(train(backend, net, taught(how, 3, dtype::bf16)).losses, end_to_end, 0.1);
  });
}

TEST(TrainingChain, TakesNewLabelsEachStep) {
  const model::graph lenet =
      model::load(model::find("lenet5", model::default_shapes_directory()), 8);
  const std::shared_ptr<device_context> memory =
      testing::make_context(testing::reference_backend(), 1);
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
    const auto end_to_end = train(testing::reference_backend(), net, taught(how, 3)).losses;
    testing::on_all_backends(dtype::bf16, [&](const backend_entry& backend) {
      expect_alike(train(backend, net, taught(how, 3, dtype::bf16)).losses, end_to_end, 0.1);
    });
  }
}

TEST(TrainingChain, OfSeveralRanksSumsEveryGradient) {
  const testing::temporary_directory directory;
  const std::vector<model::graph> nets{
      model::load(directory.write("residual.json", residual)),
      model::load(model::find("lenet5", model::default_shapes_directory()), 2)};
  for (const model::graph& net : nets) {
    for (const bool zeroed : {false, true}) {
      // Twice the gradient with half the rate.
      const model::training alone{.rule = op::update_rule::sgd, .rate = 0.02, .zeroed = zeroed};
      model::training together = alone;
      together.rate = alone.rate / 2;
      together.ranks = 2;
      testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
        expect_alike(train(backend, net, taught(together, 2)).losses,
                     train(backend, net, taught(alone, 2)).losses, 1e-3);
      });
    }
  }
}

/// Runs posted collectives as late as possible.
struct late_collectives final : background_collectives {
  std::vector<bound_plan*> waiting = {};
  std::size_t sent = 0;

  void post(compute_device& /*device*/, bound_plan& collective) override {
    waiting.push_back(&collective);
  }
  void wait_for_posted(compute_device& /*device*/) override {
    for (bound_plan* plan : waiting) plan->run();
    sent += waiting.size();
    waiting.clear();
  }
};

TEST(TrainingChain, OfSeveralRanksOverlapsAllReduces) {
  const model::graph lenet =
      model::load(model::find("lenet5", model::default_shapes_directory()), 2);
  lesson taught_together = taught({.rule = op::update_rule::sgd, .rate = 0.001, .ranks = 2}, 2);
  testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
    late_collectives late;
    taught_together.beside = nullptr;
    const auto end_to_end = train(backend, lenet, taught_together).losses;
    taught_together.beside = &late;
    expect_alike(train(backend, lenet, taught_together).losses, end_to_end, 1e-6);
    EXPECT_EQ(late.sent, 2 * end_to_end.size()) << "two buckets per step";
  });
}

TEST(TrainingChain, OfAResidualNetHasTheSameLossesOnAllBackends) {
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

}  // namespace session_training_test
}  // namespace layerbench::run
