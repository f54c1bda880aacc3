// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/model/training.hpp>

#include "support/temporary_directory.hpp"

namespace layerbench::model {
namespace model_training_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class Training : public ::testing::Test {
 protected:
  /// A step as text, one line per call: layer, op, pass, tensors.
  static std::vector<std::string> text(const step& of) {
    std::vector<std::string> lines;
    for (const call& item : of.calls) {
      lines.push_back(fmt::format("{} {} {} {}", item.layer, item.op.name(), name(item.pass),
                                  fmt::join(item.tensors, " ")));
    }
    return lines;
  }

  graph load_layers(const std::string& layers) {
    return load(directory_.write("net.json", R"({"name": "net", "layers": [)" + layers + "]}"));
  }

  testing::temporary_directory directory_;
};

struct published {
  const char* model;
  std::int64_t macs;  ///< of a training step, an image
};

class TrainingMacs : public ::testing::TestWithParam<published> {};

TEST_P(TrainingMacs, AreThreeForwardOnesLessTheInputsGradient) {
  const graph g = load(find(GetParam().model, LAYERBENCH_SHAPES_DIR), 2);
  std::int64_t macs = 0;
  for (const call& item : training_step(g, dtype::f32).calls) macs += item.op.work(item.pass).macs;
  EXPECT_EQ(macs, 2 * GetParam().macs);
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingMacs,
                         ::testing::Values(published{"resnet50", 12149538816},
                                           published{"vgg16", 46324088832},
                                           published{"alexnet", 2072288640}));

TEST_F(Training, OfAModelForInferenceOnlyIsRefusedWithTheReason) {
  const std::string layers =
      R"("layers": [{"name": "a", "op": "softmax", "shape": {"dims": [2, 3]}}]})";
  const graph g = load(directory_.write(
      "net.json", R"({"name": "net", "inference_only": "folded batch norm", )" + layers));
  EXPECT_THAT(step_of(g, "inference").calls, SizeIs(1));
  try {
    static_cast<void>(step_of(g, "training"));
    ADD_FAILURE() << "was trained";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("folded batch norm"));
  }
}

TEST_F(Training, RunsForwardLossBackwardAndUpdate) {
  const graph g = load_layers(R"(
      {"name": "conv", "op": "conv",
       "shape": {"n": 2, "c": 3, "h": 4, "w": 4, "k": 5, "r": 1, "s": 1, "bias": true}},
      {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": [2, 5, 4, 4]}},
      {"name": "fc", "op": "gemm", "shape": {"m": 2, "n": 7, "k": 80}},
      {"name": "prob", "op": "softmax", "shape": {"dims": [2, 7]}})");
  EXPECT_THAT(text(training_step(g, dtype::f32, {"activation"}, {op::update_rule::sgd})),
              ElementsAre("conv conv fwd 0 2 3 4",           // input, weights, bias, output
                          "relu activation fwd 4 4",         // in place
                          "fc gemm fwd_training 4 5 6",      // logits
                          "loss cross_entropy fwd 6 1 7 8",  // target, probabilities, loss
                          "loss cross_entropy bwd 7 1 9",
                          "fc gemm bwd_data 9 5 10",           //
                          "fc gemm bwd_weights 4 9 11",        //
                          "relu activation bwd 4 10 10",       // in place
                          "conv conv bwd_weights 0 10 12 13",  // nobody asks for the input's
                          "fc_weights update fwd 5 11 5",      //
                          "conv_weights update fwd 2 12 2",    //
                          "conv_bias update fwd 3 13 3"));
}

TEST_F(Training, HasDropoutInTrainingAlone) {
  const graph g = load_layers(R"(
      {"name": "a", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "drop", "op": "dropout", "shape": {"dims": [2, 4]}},
      {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": [2, 4]}},
      {"name": "b", "op": "gemm", "shape": {"m": 2, "n": 3, "k": 4}})");
  EXPECT_THAT(text(inference_step(g, dtype::f32, {"activation"})),
              ElementsAre("a gemm fwd 0 1 2", "relu activation fwd 2 3", "b gemm fwd 3 4 5"));
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  // Source, seed, result, mask, the seed counted up.
  EXPECT_EQ(calls[1], "drop dropout fwd_training 3 4 5 6 4");
  EXPECT_THAT(calls, Contains("drop dropout bwd 15 6 16")) << "gradient, the same mask";
  EXPECT_EQ(count(g).activations, 2 * 4 + 2 * 3);
}

TEST_F(Training, AddsUpTheGradientsOfAFork) {
  const graph g = load_layers(R"(
      {"name": "a", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "b", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "sum", "op": "add", "after": ["b", "a"], "shape": {"dims": [2, 4]}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  // Layers: a 0 2 3, b 3 4 5, sum 5 3 6; loss 6 1 7 8, its gradient 9 is that of b and a.
  EXPECT_THAT(std::vector(calls.begin() + 4, calls.begin() + 9),
              ElementsAre("loss cross_entropy bwd 7 1 9",
                          "b gemm bwd_data 9 4 10",     //
                          "b gemm bwd_weights 3 9 11",  //
                          "a_grad add fwd 9 10 9",      // b has used 9 by then
                          "a gemm bwd_weights 0 9 12"));
}

TEST_F(Training, AddsGradientsIntoMemoryWithoutOtherReaders) {
  // The gradient of the sum is handed on to b and c, which still need it when a gets its own.
  const graph g = load_layers(R"(
      {"name": "a", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "b", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "sum1", "op": "add", "after": ["a", "b"], "shape": {"dims": [2, 4]}},
      {"name": "sum2", "op": "add", "after": ["sum1", "a"], "shape": {"dims": [2, 4]}})");
  const step result = training_step(g, dtype::f32);
  const auto add = std::ranges::find(result.calls, "a_grad", &call::layer);
  ASSERT_NE(add, result.calls.end());
  const auto later = std::find_if(add, result.calls.end(), [](const call& item) {
    return item.layer == "b" && item.pass != op::pass::fwd;
  });
  ASSERT_NE(later, result.calls.end()) << "b's gradients come after the sum";
  EXPECT_NE(add->tensors.back(), later->tensors.front());
}

TEST_F(Training, GivesEverySourceItsGradient) {
  const graph g = load_layers(R"(
      {"name": "a", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "b", "op": "gemm", "shape": {"m": 2, "n": 3, "k": 4}},
      {"name": "both", "op": "concat", "after": ["b", "a", "b"],
       "shape": {"dims": [2, 10], "sizes": [3, 4, 3]}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32, {"concat"}));
  // Layers: a 0 2 3, b 3 4 5; loss 6 1 7 8, its gradient 9.
  EXPECT_THAT(std::vector(calls.begin() + 2, calls.begin() + 11),
              ElementsAre("both concat fwd 5 3 5 6",         //
                          "loss cross_entropy fwd 6 1 7 8",  //
                          "loss cross_entropy bwd 7 1 9",
                          "both concat bwd 9 10 11 12",    // of b, a, b
                          "b_grad add fwd 10 12 10",       //
                          "b gemm bwd_data 10 4 13",       //
                          "b gemm bwd_weights 3 10 14",    //
                          "a_grad add fwd 11 13 11",       //
                          "a gemm bwd_weights 0 11 15"));  // nobody asks for the input's
}

TEST_F(Training, HasNoGradientOfIndices) {
  const graph g = load_layers(R"(
      {"name": "words", "op": "embedding", "shape": {"n": 2, "rows": 9, "columns": 4}},
      {"name": "fc", "op": "gemm", "shape": {"m": 2, "n": 3, "k": 4}})");
  EXPECT_THAT(text(training_step(g, dtype::f32, {}, {op::update_rule::sgd})),
              ElementsAre("words embedding fwd 0 2 3",       // indices, table, rows
                          "fc gemm fwd_training 3 4 5",      //
                          "loss cross_entropy fwd 5 1 6 7",  //
                          "loss cross_entropy bwd 6 1 8",
                          "fc gemm bwd_data 8 4 9",              //
                          "fc gemm bwd_weights 3 8 10",          //
                          "words embedding bwd_weights 0 9 11",  //
                          "fc_weights update fwd 4 10 4",        //
                          "words_weights update fwd 2 11 2"));
}

TEST_F(Training, LearnsOfABatchNormWhatItHas) {
  const graph g = load_layers(R"(
      {"name": "bn", "op": "batchnorm",
       "shape": {"n": 2, "c": 3, "h": 1, "w": 1, "scale": false}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  EXPECT_EQ(calls[0], "bn batchnorm fwd_training 0 2 3 4 5 6 7 3 4");
  EXPECT_EQ(calls[3], "bn batchnorm bwd 0 10 6 7 11 12");
  EXPECT_THAT(calls, SizeIs(5)) << "shift alone is updated";
}

TEST_F(Training, GivesAttentionAndBatchedProductsAGradientPerSource) {
  const graph g = load_layers(R"(
      {"name": "q", "op": "gemm", "shape": {"m": 6, "n": 4, "k": 4}},
      {"name": "v", "op": "gemm", "after": [], "shape": {"m": 6, "n": 4, "k": 4}},
      {"name": "mix", "op": "attention", "after": ["q", "v", "v"],
       "shape": {"n": 2, "heads": 2, "q": 3, "k": 3, "d": 2}},
      {"name": "mean", "op": "layernorm", "shape": {"dims": [2, 3, 4], "bias": false}},
      {"name": "pairs", "op": "gemm", "after": ["mean", "mix"],
       "shape": {"m": 3, "n": 3, "k": 4, "batch": 2, "b_transposed": true}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  EXPECT_EQ(calls[2], "mix attention fwd_training 3 5 5 6 7");
  EXPECT_EQ(calls[3], "mean layernorm fwd_training 6 8 9 10 11");
  EXPECT_EQ(calls[4], "pairs gemm fwd 9 6 12");
  EXPECT_EQ(calls[7], "pairs gemm bwd 9 6 15 16 17");
  EXPECT_EQ(calls[8], "mean layernorm bwd 6 16 8 10 11 18 19");
  EXPECT_EQ(calls[9], "mix_grad add fwd 17 18 17");
  EXPECT_EQ(calls[10], "mix attention bwd 3 5 5 6 7 17 20 21 22");
}

TEST_F(Training, SumsTheGradientOfABroadcastSumOverTheBatch) {
  const graph g = load_layers(R"(
      {"name": "fc", "op": "gemm", "shape": {"m": 6, "n": 4, "k": 4}},
      {"name": "one", "op": "gemm", "after": [], "shape": {"m": 3, "n": 4, "k": 8}},
      {"name": "sum", "op": "add", "after": ["fc", "one"],
       "shape": {"dims": [2, 3, 4], "broadcast": true}},
      {"name": "positions", "op": "add",
       "shape": {"dims": [2, 3, 4], "broadcast": true, "learned": true}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  EXPECT_EQ(calls[2], "sum add fwd 3 5 6");
  EXPECT_EQ(calls[3], "positions add fwd 6 7 8");
  EXPECT_EQ(calls[6], "positions add bwd 11 12");
  EXPECT_EQ(calls[7], "sum add bwd 11 13");
  EXPECT_EQ(calls[8], "one gemm bwd_weights 0 13 14");
  EXPECT_EQ(calls[9], "fc gemm bwd_weights 0 11 15");
  EXPECT_THAT(calls, SizeIs(13)) << "the positions are updated";
}

TEST_F(Training, LearnsTheFactorsOfAMultiply) {
  const graph g = load_layers(R"(
      {"name": "fc", "op": "gemm", "shape": {"m": 6, "n": 4, "k": 4}},
      {"name": "scale", "op": "multiply",
       "shape": {"dims": [6, 4], "dims1": [1, 4], "learned": true}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  EXPECT_EQ(calls[1], "scale multiply fwd 3 4 5");
  EXPECT_EQ(calls[4], "scale multiply bwd 3 4 8 9 10");
  EXPECT_EQ(calls[5], "fc gemm bwd_weights 0 9 11");
  EXPECT_THAT(calls, SizeIs(8)) << "the factors are updated";
}

TEST_F(Training, OverwritesNoOperandOfAGradient) {
  const graph g = load_layers(R"(
      {"name": "fc", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "tanh", "op": "activation", "shape": {"kind": "tanh", "dims": [2, 4]}},
      {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": [2, 4]}},
      {"name": "gelu", "op": "activation", "shape": {"kind": "gelu", "dims": [2, 4]}})");
  const step result = training_step(g, dtype::f32, {"activation"});
  const auto in_place = [](const call& item) { return item.tensors[0] == item.tensors[1]; };
  EXPECT_TRUE(in_place(result.calls[1])) << "no other call reads the result of fc";
  EXPECT_FALSE(in_place(result.calls[2])) << "the gradient of tanh needs its result";
  EXPECT_FALSE(in_place(result.calls[3])) << "the gradient of gelu needs its source";
}

TEST_F(Training, BatchNormsUpdateTheirRunningStatisticsInPlace) {
  const graph g = load_layers(R"(
      {"name": "bn", "op": "batchnorm", "shape": {"n": 2, "c": 3, "h": 4, "w": 4}},
      {"name": "pool", "op": "pool",
       "shape": {"kind": "max", "n": 2, "c": 3, "h": 4, "w": 4, "r": 2, "s": 2, "stride": 2}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  EXPECT_EQ(calls[0], "bn batchnorm fwd_training 0 2 3 4 5 6 7 8 4 5");
  EXPECT_EQ(calls[1], "pool pool fwd_training 6 9 10");
  EXPECT_EQ(calls[4], "pool pool bwd 13 10 14");
  EXPECT_EQ(calls[5], "bn batchnorm bwd 0 14 2 7 8 15 16 17");
  EXPECT_THAT(calls, SizeIs(8)) << "scale and shift are updated";
}

TEST_F(Training, KeepsF32WeightsOf16BitTypes) {
  const graph g = load_layers(R"({"name": "fc", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}})");
  const std::vector<std::string> calls =
      text(training_step(g, dtype::bf16, {}, {op::update_rule::momentum}));
  // weights, gradient, moment, the same two renewed, and the weights that fc reads.
  EXPECT_EQ(calls.back(), "fc_weights update fwd 8 7 9 8 9 2");
}

TEST_F(Training, InTf32IsTheStepOfF32) {
  const graph g = load(find("resnet18", LAYERBENCH_SHAPES_DIR), 2);
  for (const bool fused : {false, true}) {
    EXPECT_EQ(text(training_step(g, dtype::tf32, {}, {.fused = fused})),
              text(training_step(g, dtype::f32, {}, {.fused = fused})));
  }
}

TEST_F(Training, UpdatesAllWeightsInOneCallWhenFused) {
  const graph g = load(find("lenet5", LAYERBENCH_SHAPES_DIR), 2);
  const step apart = training_step(g, dtype::f32);
  const step fused = training_step(g, dtype::f32, {}, {.fused = true});
  const auto updates = [](const step& of) {
    return std::ranges::count_if(of.calls,
                                 [](const call& element) { return element.op.name() == "update"; });
  };
  EXPECT_EQ(updates(apart), 8);
  EXPECT_EQ(updates(fused), 1);
  const auto flops = [](const step& of) {
    std::int64_t sum = 0;
    for (const call& item : of.calls) sum += item.op.work(item.pass).flops;
    return sum;
  };
  EXPECT_EQ(flops(apart), flops(fused));
}

TEST_F(Training, AccumulatesGradients) {
  const graph g = load_layers(R"({"name": "fc", "op": "gemm",
                                  "shape": {"m": 2, "n": 4, "k": 4, "bias": true}})");
  EXPECT_THAT(
      text(training_step(g, dtype::f32, {}, {.rule = op::update_rule::sgd, .zeroed = true})),
      ElementsAre("fc gemm fwd_training 0 2 3 4",        // weights, bias
                  "loss cross_entropy fwd 4 1 5 6",      //
                  "fc_weights_zero update fwd 10",       //
                  "fc_bias_zero update fwd 11",          //
                  "loss cross_entropy bwd 5 1 7",        //
                  "fc gemm bwd_weights 0 7 8 9",         //
                  "fc_weights_grad update fwd 10 8 10",  //
                  "fc_bias_grad update fwd 11 9 11",     //
                  "fc_weights update fwd 2 10 2",        //
                  "fc_bias update fwd 3 11 3"));
  const std::vector<std::string> fused = text(training_step(
      g, dtype::f32, {}, {.rule = op::update_rule::sgd, .fused = true, .zeroed = true}));
  EXPECT_EQ(fused[2], "all_zero update fwd 10 11");
  EXPECT_EQ(fused.back(), "all update fwd 2 10 2 3 11 3");
}

TEST(TrainingText, IsReadAsItWasWritten) {
  for (const std::string_view optimizer : op::optimizers) {
    for (const char* more : {"", ", fused", ", zeroed", ", fused, zeroed"}) {
      const std::string written = std::string(optimizer) + more;
      EXPECT_EQ(model::text(training_of(written)), written);
    }
  }
  EXPECT_EQ(model::text(training_of("of a later version")), "momentum");
}

TEST_F(Training, ComputesTheLossFromTheSourceOfTheLastSoftmax) {
  const graph g = load_layers(R"(
      {"name": "fc", "op": "gemm", "shape": {"m": 2, "n": 7, "k": 4}},
      {"name": "aside", "op": "activation", "shape": {"kind": "relu", "dims": [2, 7]}},
      {"name": "prob", "op": "softmax", "after": ["fc"], "shape": {"dims": [2, 7]}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  EXPECT_EQ(calls[2], "loss cross_entropy fwd 3 1 5 6") << "fc writes tensor 3";
  const graph alone =
      load_layers(R"({"name": "prob", "op": "softmax", "shape": {"dims": [2, 7]}})");
  EXPECT_THROW(static_cast<void>(training_step(alone, dtype::f32)), unsupported);
}

TEST_F(Training, JudgesAuxiliaryHeads) {
  const graph g = load_layers(R"(
      {"name": "a", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "aux", "op": "gemm", "shape": {"m": 2, "n": 3, "k": 4}},
      {"name": "aux_prob", "op": "softmax", "shape": {"dims": [2, 3]}},
      {"name": "b", "op": "gemm", "after": ["a"], "shape": {"m": 2, "n": 3, "k": 4}},
      {"name": "prob", "op": "softmax", "shape": {"dims": [2, 3]}})");
  const std::vector<std::string> calls = text(training_step(g, dtype::f32));
  // Layers: a 0 2 3, aux 3 4 5, b 3 6 7; both losses have the target 1.
  EXPECT_THAT(std::vector(calls.begin(), calls.begin() + 13),
              ElementsAre("a gemm fwd_training 0 2 3", "aux gemm fwd_training 3 4 5",
                          "b gemm fwd_training 3 6 7",           //
                          "aux_loss cross_entropy fwd 5 1 8 9",  //
                          "loss cross_entropy fwd 7 1 10 11",    //
                          "aux_loss cross_entropy bwd 8 1 12",   //
                          "loss cross_entropy bwd 10 1 13",      //
                          "b gemm bwd_data 13 6 14", "b gemm bwd_weights 3 13 15",
                          "aux gemm bwd_data 12 4 16", "aux gemm bwd_weights 3 12 17",
                          "a_grad add fwd 14 16 14", "a gemm bwd_weights 0 14 18"));
}

TEST_F(Training, RefusesHeadsOfDifferentNumbersOfLabels) {
  const graph g = load_layers(R"(
      {"name": "a", "op": "gemm", "shape": {"m": 2, "n": 3, "k": 4}},
      {"name": "prob", "op": "softmax", "shape": {"dims": [2, 3]}},
      {"name": "b", "op": "gemm", "after": [], "shape": {"m": 5, "n": 3, "k": 4}})");
  EXPECT_THROW(static_cast<void>(training_step(g, dtype::f32)), unsupported);
}

TEST_F(Training, EveryTensorHasOneType) {
  for (const char* model : {"resnet18", "lenet5"}) {
    const graph g = load(find(model, LAYERBENCH_SHAPES_DIR), 2);
    for (const bool fused : {false, true}) {
      const step result = training_step(g, dtype::bf16, {"activation"}, {.fused = fused});
      std::map<std::size_t, std::pair<dtype, std::int64_t>> seen;
      for (const call& item : result.calls) {
        const std::vector<op::operand> operands = result.operands_of(item);
        for (std::size_t i = 0; i < operands.size(); ++i) {
          const std::pair found{operands[i].type, elements(operands[i].extents)};
          const auto known = seen.try_emplace(item.tensors[i], found).first->second;
          EXPECT_EQ(known, found) << item.layer << ' ' << operands[i].name;
        }
      }
    }
  }
}

TEST_F(Training, RefusesOpsWithoutAGradient) {
  const graph g = load_layers(R"(
      {"name": "fc", "op": "gemm", "shape": {"m": 2, "n": 4, "k": 4}},
      {"name": "odd", "op": "reorder", "shape": {"dims": [2, 4], "from": "ab", "to": "ba"}})");
  EXPECT_THROW(static_cast<void>(training_step(g, dtype::f32)), unsupported);
}

/// Every tensor of a step is read only after it was written, and weights are never lost.
TEST_F(Training, ReadsNothingThatWasNotWritten) {
  for (const char* model : {"resnet50", "vgg16", "alexnet", "lenet5", "resnet18"}) {
    const graph g = load(find(model, LAYERBENCH_SHAPES_DIR), 2);
    for (const dtype type : {dtype::f32, dtype::bf16}) {
      const step result = training_step(g, type, {"activation"});
      std::vector<bool> written(result.tensors, false);
      for (std::size_t i = 0; i < result.inputs; ++i) written[i] = true;
      for (const call& item : result.calls) {
        const std::vector<op::operand> operands = item.op.operands(item.pass, type);
        ASSERT_EQ(operands.size(), item.tensors.size()) << item.layer;
        for (std::size_t i = 0; i < operands.size(); ++i) {
          const bool read = operands[i].role == op::role::source;
          EXPECT_TRUE(!read || written[item.tensors[i]])
              << model << ' ' << item.layer << ' ' << operands[i].name;
        }
        for (std::size_t i = 0; i < operands.size(); ++i) {
          if (operands[i].role == op::role::destination) written[item.tensors[i]] = true;
        }
      }
    }
  }
}

}  // namespace model_training_test
}  // namespace layerbench::model
