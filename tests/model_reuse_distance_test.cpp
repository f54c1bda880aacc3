// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/memory_reuse.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>

#include "support/temporary_directory.hpp"
#include "support/transformer.hpp"

namespace layerbench::model {
namespace model_reuse_distance_test {

/// A residual block of 1x4x8x8 tensors, 1024 bytes each in f32; a convolution's weights are 64
/// bytes, a batch norm's 64 in all.
constexpr auto block = R"({"name": "block", "layers": [
  {"name": "conv1", "op": "conv", "shape": {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 1, "s": 1}},
  {"name": "relu1", "op": "activation", "shape": {"kind": "relu", "dims": [1, 4, 8, 8]}},
  {"name": "conv2", "op": "conv", "shape": {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 1, "s": 1}},
  {"name": "bn2", "op": "batchnorm", "shape": {"n": 1, "c": 4, "h": 8, "w": 8}},
  {"name": "relu2", "op": "activation", "shape": {"kind": "relu", "dims": [1, 4, 8, 8]}},
  {"name": "conv3", "op": "conv", "shape": {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 1, "s": 1}},
  {"name": "add", "op": "add", "after": ["conv3", "relu1"], "shape": {"dims": [1, 4, 8, 8]}},
  {"name": "relu3", "op": "activation", "shape": {"kind": "relu", "dims": [1, 4, 8, 8]}}
]})";
constexpr std::int64_t tensor = 1024;
constexpr std::int64_t weights = 64;

class Reuse : public ::testing::Test {
 protected:
  testing::temporary_directory directory_;
  graph graph_ = load(directory_.write("block.json", block));
  step calls_ = inference_step(graph_, dtype::f32, {"activation"});
  step_memory step_{calls_, least_operand_bytes(dtype::f32)};

  [[nodiscard]] std::size_t layer(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::find(graph_.layers, name, &model::layer::name) -
                                    graph_.layers.begin());
  }
  [[nodiscard]] call_state state_of(std::string_view name) const {
    return step_.state_of(layer(name));
  }
};

TEST_F(Reuse, FootprintIsTheMemoryOfAStep) {
  // The input, five tensors (relu2 and relu3 work in place, as does relu1) and four sets of
  // weights.
  EXPECT_EQ(step_.footprint(), 6 * tensor + 4 * weights);
  const step apart = inference_step(graph_);
  EXPECT_EQ(step_memory(apart, least_operand_bytes(dtype::f32)).footprint(),
            9 * tensor + 4 * weights);
  const step_memory half(calls_, least_operand_bytes(dtype::bf16));
  EXPECT_LT(half.footprint(), step_.footprint());
}

TEST_F(Reuse, IncludesThePaddingOfABackend) {
  const auto padded = [](const op::any& op, op::pass pass) {
    std::vector<std::int64_t> bytes = least_operand_bytes(dtype::f32)(op, pass);
    for (std::int64_t& byte : bytes) byte *= 2;
    return bytes;
  };
  const step_memory twice(calls_, padded);
  EXPECT_EQ(twice.footprint(), 2 * step_.footprint());
  const std::size_t add = layer("add");
  EXPECT_EQ(twice.state_of(add).operands[1].distance, 2 * *state_of("add").operands[1].distance);
  EXPECT_EQ(twice.state_of(add).in_place, step_.state_of(add).in_place);
}

TEST_F(Reuse, InPlaceOpsOverwriteASourceWithoutOtherReaders) {
  EXPECT_TRUE(state_of("relu1").in_place);
  EXPECT_EQ(calls_.calls[layer("relu1")].tensors.back(),
            calls_.calls[layer("conv1")].tensors.back());
  EXPECT_TRUE(state_of("relu3").in_place);
  EXPECT_FALSE(state_of("add").in_place);
  const std::vector<call> adds = inference_step(graph_, dtype::f32, {"activation", "add"}).calls;
  const std::size_t conv3 = adds[layer("conv3")].tensors.back();
  EXPECT_EQ(adds[layer("add")].tensors.back(), conv3) << "it has one reader";
  EXPECT_EQ(adds[layer("relu3")].tensors.back(), conv3);
}

TEST_F(Reuse, AForkedTensorIsNotOverwritten) {
  const graph forked = load(directory_.write("forked.json", R"({"name": "forked", "layers": [
    {"name": "a", "op": "activation", "shape": {"kind": "relu", "dims": [1, 4, 8, 8]}},
    {"name": "b", "op": "activation", "shape": {"kind": "relu", "dims": [1, 4, 8, 8]}},
    {"name": "c", "op": "add", "after": ["a", "b"], "shape": {"dims": [1, 4, 8, 8]}}]})"));
  const std::vector<call> calls = inference_step(forked, dtype::f32, {"activation"}).calls;
  EXPECT_THAT(calls[0].tensors, ::testing::ElementsAre(0, 1)) << "the model's input is not its own";
  EXPECT_THAT(calls[1].tensors, ::testing::ElementsAre(1, 2)) << "the add reads a, too";
}

TEST_F(Reuse, WhatWasJustWrittenIsFresh) {
  for (const auto* name : {"conv1", "relu1", "conv2", "bn2", "relu2", "conv3", "relu3"}) {
    EXPECT_EQ(state_of(name).operands.front().distance, 0) << name;
  }
  EXPECT_FALSE(state_of("conv1").operands.front().writer) << "the model's input";
  EXPECT_EQ(state_of("bn2").operands.front().writer, layer("conv2"));
}

TEST_F(Reuse, WeightsAndResultsHaveTheDistanceOfAStep) {
  EXPECT_FALSE(state_of("conv2").operands[1].distance);
  EXPECT_FALSE(state_of("conv2").operands[2].distance);
  EXPECT_EQ(state_of("relu2").operands[1].distance, 0) << "in place";
}

TEST_F(Reuse, AResidualHasTheDistanceToItsLastUse) {
  const call_state found = state_of("add");
  ASSERT_EQ(found.operands.size(), 3U);
  EXPECT_EQ(found.operands[0].distance, 0);
  EXPECT_EQ(found.operands[1].writer, layer("relu1"));
  // conv2 read it last. Since then: bn2 (conv2's tensor, its own, statistics), relu2, conv3.
  EXPECT_EQ(found.operands[1].distance, 3 * tensor + 2 * weights);
}

TEST_F(Reuse, TrainedWeightsWereLastUsedByTheirUpdate) {
  const graph net = load(directory_.write("net.json", R"({"name": "net", "layers": [
    {"name": "conv", "op": "conv", "shape": {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 1, "s": 1}},
    {"name": "fc", "op": "gemm", "shape": {"m": 1, "n": 4, "k": 256}}]})"));
  const step trained = training_step(net, dtype::f32, {}, {.rule = op::update_rule::sgd});
  const step_memory memory(trained, least_operand_bytes(dtype::f32));
  ASSERT_EQ(trained.calls.back().layer, "conv_weights");
  EXPECT_EQ(memory.state_of(0).operands[1].distance, 0) << "at the end of the step before";
  EXPECT_FALSE(memory.state_of(0).operands[1].writer) << "no call of this step did";
  constexpr std::int64_t update_of_conv = 2 * weights;
  EXPECT_EQ(memory.state_of(1).operands[1].distance, update_of_conv + 2 * tensor);
}

TEST_F(Reuse, ACacheIsOldAlthoughRowsWereJustAppended) {
  const auto path = directory_.write("decoder.json", testing::decoder_block);
  const graph net = load(path, {{"batch", 1}, {"tokens", 1}, {"context", 63}});
  const step decoding = inference_step(net);
  const step_memory memory(decoding, least_operand_bytes(dtype::f32));
  const auto at = [&](std::string_view name) {
    const auto found = std::ranges::find(decoding.calls, name, &call::layer);
    return static_cast<std::size_t>(found - decoding.calls.begin());
  };
  const call_state attention = memory.state_of(at("attention"));
  EXPECT_TRUE(attention.operands[0].distance) << "the query";
  EXPECT_FALSE(attention.operands[1].distance);
  EXPECT_FALSE(attention.operands[2].distance);
  // Caches are kept from step to step, and so share no memory with activations.
  const operand_bytes bytes = least_operand_bytes(dtype::f32);
  const step reused = with_reused_memory(inference_step(net), bytes);
  constexpr std::int64_t cache = 64 * 8 * 4;
  EXPECT_LT(step_memory(reused, bytes).state_of(0).shared_bytes.value(), cache);
  const call_state append = memory.state_of(at("value_cache"));
  EXPECT_EQ(append.operands[0].distance, 0);
  // The query was written before the rows of a key and of a value, their products and the cosines
  // and sines of the key, and no cache was read since.
  constexpr std::int64_t row = 8 * 4;
  constexpr std::int64_t product = 16 * row;
  constexpr std::int64_t words = 16 * 4;
  EXPECT_EQ(attention.operands[0].distance, words + 2 * product + 5 * row + 2 * 4 * 4);
  // Each cache counts once, with all its rows.
  const step shorter = inference_step(load(path, {{"batch", 1}, {"tokens", 1}, {"context", 3}}));
  EXPECT_EQ(memory.footprint() - step_memory(shorter, least_operand_bytes(dtype::f32)).footprint(),
            2 * 60 * row);
}

TEST_F(Reuse, MostlyNewRowsOfACacheAreFresh) {
  const auto path = directory_.write("decoder.json", testing::decoder_block);
  const step chunk = inference_step(load(path, {{"tokens", 8}, {"context", 1}}));
  const step_memory memory(chunk, least_operand_bytes(dtype::f32));
  const auto attention = std::ranges::find(chunk.calls, "attention", &call::layer);
  const call_state found =
      memory.state_of(static_cast<std::size_t>(attention - chunk.calls.begin()));
  ASSERT_TRUE(found.operands[2].writer);
  EXPECT_EQ(chunk.calls[*found.operands[2].writer].layer, "value_cache");
}

TEST_F(Reuse, WrittenMemoryHasAPreviousUser) {
  const std::vector<previous_use> result = state_of("conv2").operands[2].uses;
  ASSERT_THAT(result, ::testing::SizeIs(1));
  EXPECT_EQ(result.front().call, layer("bn2")) << "of the step before";
  EXPECT_THAT(result.front().operands, ::testing::ElementsAre(0));
  EXPECT_FALSE(result.front().writes);
  EXPECT_LT(result.front().distance, step_.footprint() - weights - tensor + 1);
  EXPECT_GT(result.front().distance, step_.footprint() / 2);
  const std::vector<previous_use> in_place = state_of("relu2").operands[0].uses;
  ASSERT_THAT(in_place, ::testing::SizeIs(1));
  EXPECT_EQ(in_place.front().call, layer("bn2"));
  EXPECT_TRUE(in_place.front().writes);
  EXPECT_EQ(in_place.front().distance, 0);
  EXPECT_THAT(state_of("conv2").operands[1].uses, ::testing::IsEmpty())
      << "no other layer uses these weights";
}

TEST_F(Reuse, ReusedMemoryIsThatOfActivationsNobodyReadsAnyMore) {
  const operand_bytes bytes = least_operand_bytes(dtype::f32);
  const step reused = with_reused_memory(calls_, bytes);
  // conv3 writes where conv2 did, whose result bn2 read. The model's result has its own memory.
  EXPECT_EQ(reused.calls[layer("conv3")].tensors.back(),
            calls_.calls[layer("conv2")].tensors.back());
  EXPECT_EQ(step_memory(reused, bytes).footprint(), 5 * tensor + 4 * weights);
  EXPECT_EQ(step_memory(reused, bytes).state_of(0).shared_bytes, 5 * tensor);
  EXPECT_FALSE(state_of("conv3").shared_bytes) << "each has its own";
  const call_state state = step_memory(reused, bytes).state_of(layer("conv3"));
  ASSERT_FALSE(state.operands.back().uses.empty());
  EXPECT_EQ(state.operands.back().uses.front().call, layer("bn2"));
}

/// A convolution of 8x8 pixels from `inputs` to `outputs` channels.
std::string conv(const char* name, int inputs, int outputs) {
  return fmt::format(R"({{"name": "{}", "op": "conv", "shape": {{"n": 1, "c": {}, "h": 8,
                         "w": 8, "k": {}, "r": 1, "s": 1}}}})",
                     name, inputs, outputs);
}

TEST_F(Reuse, TheInputOfTheLastLayerIsFreshAndItsResultIsNot) {
  const graph g = load(directory_.write(
      "m.json", fmt::format(R"({{"name": "m", "layers": [{}]}})", conv("only", 4, 4))));
  const step one = inference_step(g);
  const call_state state = step_memory(one, least_operand_bytes(dtype::f32)).state_of(0);
  EXPECT_EQ(state.operands.front().distance, 0);
  EXPECT_THAT(state.operands.front().uses, ::testing::IsEmpty());
  EXPECT_FALSE(state_of("add").operands.back().distance) << "relu3 of the step before used it";
}

TEST_F(Reuse, MemoryHasOlderUsesWhereLaterOnesTouchedLess) {
  const graph g = load(directory_.write(
      "m.json", fmt::format(R"({{"name": "m", "layers": [{}, {}, {}, {}, {}, {}]}})",
                            conv("large", 4, 64), conv("small1", 64, 4), conv("small2", 4, 4),
                            conv("small3", 4, 4), conv("medium", 4, 32), conv("last", 32, 4))));
  const operand_bytes bytes = least_operand_bytes(dtype::f32);
  const step reused = with_reused_memory(inference_step(g), bytes);
  const std::vector<previous_use> uses =
      step_memory(reused, bytes).state_of(4).operands.back().uses;
  // small2 wrote, and small3 read, a part of what `large` wrote and small1 read before.
  constexpr std::int64_t channel = 8 * 8 * 4;
  ASSERT_THAT(uses, ::testing::SizeIs(2));
  EXPECT_EQ(uses[0].call, 3U);
  EXPECT_EQ(uses[0].bytes, 4 * channel);
  EXPECT_EQ(uses[1].call, 1U);
  EXPECT_EQ(uses[1].bytes, 64 * channel);
  EXPECT_GT(uses[1].distance, uses[0].distance);
}

TEST_F(Reuse, SmallTensorsInTheMemoryOfALargeOneTouchAPartOfIt) {
  const graph g = load(directory_.write(
      "m.json", fmt::format(R"({{"name": "m", "layers": [{}, {}, {}, {}, {},
          {{"name": "add", "op": "add", "after": ["small4", "small1"],
            "shape": {{"dims": [1, 4, 8, 8]}}}}]}})",
                            conv("large", 4, 64), conv("small1", 64, 4), conv("small2", 4, 4),
                            conv("small3", 4, 4), conv("small4", 4, 4))));
  const operand_bytes bytes = least_operand_bytes(dtype::f32);
  const step reused = with_reused_memory(inference_step(g), bytes);
  const std::size_t add = reused.calls.size() - 1;
  EXPECT_EQ(reused.calls[2].tensors.back(), reused.calls[0].tensors.back());
  // small2 was the last to read the result of small1. Then small3 and small4 touched the results of
  // both, and their weights.
  constexpr std::int64_t result = 4 * 8 * 8 * 4;
  constexpr std::int64_t filter = 4 * 4 * 4;
  EXPECT_EQ(step_memory(reused, bytes).state_of(add).operands[1].distance, 2 * (result + filter));
}

TEST_F(Reuse, ReusedMemoryKeepsAResultThatIsWrittenOverASource) {
  // `c` adds `a`, which b has read, in place; nobody reads the sum.
  const auto conv = [](const char* name, const char* after, const char* more) {
    return fmt::format(R"({{"name": "{}", "op": "conv", "after": [{}],
        "shape": {{"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 1, "s": 1{}}}}})",
                       name, after, more);
  };
  const graph g =
      load(directory_.write("m.json", fmt::format(R"({{"name": "m", "layers": [{}, {}, {}, {}]}})",
                                                  conv("a", "", ""), conv("b", "\"a\"", ""),
                                                  conv("c", "\"b\", \"a\"", R"(, "post": ["sum"])"),
                                                  conv("e", "\"b\"", ""))));
  const step reused = with_reused_memory(inference_step(g), least_operand_bytes(dtype::f32));
  const std::size_t result = reused.calls[2].tensors.back();
  EXPECT_EQ(result, reused.calls[0].tensors.back());
  EXPECT_FALSE(reused.calls[3].uses(result));
}

TEST_F(Reuse, AnOlderUseOfADestinationIsInItsSignature) {
  const operand_bytes bytes = least_operand_bytes(dtype::f32);
  const step reused = with_reused_memory(calls_, bytes);
  EXPECT_THAT(step_memory(reused, bytes).state_of(layer("conv3")).signature(),
              ::testing::HasSubstr(",dst:"));
  EXPECT_THAT(state_of("conv3").signature(), ::testing::Not(::testing::HasSubstr(",dst:")));
}

TEST_F(Reuse, SignaturesAgreeForEqualSizes) {
  const auto source = [](std::int64_t distance) {
    return std::vector<operand_state>{{op::role::source, distance}};
  };
  call_state a{1'000'000, source(0)};
  call_state b{1'150'000, source(100)};
  EXPECT_EQ(a.signature(), b.signature());  // a few bytes more
  EXPECT_EQ(a.signature(), "step:1.00MB,src:fresh");
  b.shared_bytes = 100'000;
  EXPECT_EQ(b.signature(), "step:1.00MB,shared:100kB,src:fresh");
  b.shared_bytes.reset();
  b.footprint = 1'500'000;
  EXPECT_NE(a.signature(), b.signature());
  b = a;
  b.in_place = true;
  EXPECT_NE(a.signature(), b.signature());
  b = a;
  b.operands = source(50'000);
  EXPECT_NE(a.signature(), b.signature());
  EXPECT_EQ(b.signature().find_first_of("; "), std::string::npos);  // labels are split at these
}

TEST_F(Reuse, FootprintsOfTheModels) {
  const auto footprint = [](const char* name, std::int64_t batch) {
    const graph g = load(find(name, LAYERBENCH_SHAPES_DIR), batch);
    const step calls = inference_step(g, dtype::f32, {"activation"});
    return step_memory(calls, least_operand_bytes(dtype::f32)).footprint();
  };
  // 4 bytes for each parameter and running statistic, each activation that is kept (totals as
  // published; the softmax's 1000 are not among them) and each value of the input.
  constexpr std::int64_t input = 3 * 224 * 224;
  constexpr std::int64_t softmax = 1000;
  EXPECT_EQ(footprint("alexnet", 1), 4 * (61100840 + 582504 + softmax + input));
  EXPECT_EQ(footprint("vgg16", 1), 4 * (138357544 + 15087080 + softmax + input));
  EXPECT_EQ(footprint("resnet50", 1), 4 * (25557032 + 53120 + 27951080 + softmax + input));
}

}  // namespace model_reuse_distance_test
}  // namespace layerbench::model
