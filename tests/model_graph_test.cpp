// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/model/training.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"
#include "support/transformer.hpp"

namespace layerbench::model {
namespace model_graph_test {

struct golden {
  std::string name;
  totals expected;
};

const std::vector<golden> goldens{
    {"resnet50", {25557032, 4089184256, 53, 23, 27951080}},
    {"vgg16", {138357544, 15470264320, 13, 9, 15087080}},
    {"alexnet", {61100840, 714188480, 5, 5, 582504}},
    {"lenet5", {431080, 2293000, 2, 2, 18910}},
    {"resnet18", {11689512, 1814073344, 20, 11, 5922280}},
    {"vgg19", {143667240, 19632062464, 16, 9, 16391656}},
};

graph load_named(const std::string& name, std::optional<std::int64_t> batch = std::nullopt) {
  return load(find(name, LAYERBENCH_SHAPES_DIR), batch);
}

class known_model : public ::testing::TestWithParam<golden> {};

TEST_P(known_model, has_its_published_totals) {
  const totals found = count(load_named(GetParam().name, 1));
  const totals& expected = GetParam().expected;
  EXPECT_EQ(found.parameters, expected.parameters);
  EXPECT_EQ(found.macs, expected.macs);
  EXPECT_EQ(found.conv_layers, expected.conv_layers);
  EXPECT_EQ(found.unique_conv_shapes, expected.unique_conv_shapes);
  EXPECT_EQ(found.activations, expected.activations);
}

TEST_P(known_model, scales_with_the_batch_but_for_its_parameters) {
  const graph g = load_named(GetParam().name, 32);
  const totals found = count(g);
  const totals& single = GetParam().expected;
  EXPECT_EQ(batch(g), 32);
  EXPECT_EQ(found.macs, 32 * single.macs);
  EXPECT_EQ(found.activations, 32 * single.activations);
  EXPECT_EQ(found.parameters, single.parameters);
  EXPECT_EQ(found.unique_conv_shapes, single.unique_conv_shapes);
}

TEST_P(known_model, has_a_step_that_runs_every_layer_once) {
  const graph g = load_named(GetParam().name);
  const std::vector<primitive> step = primitives(inference_step(g));
  std::int64_t executions = 0;
  std::int64_t macs = 0;
  for (const primitive& p : step) {
    executions += p.count();
    macs += p.count() * p.op.work(p.pass).macs;
  }
  EXPECT_EQ(executions, std::ranges::count_if(g.layers, [](const layer& item) {
              return item.op.has(op::pass::fwd);
            }));
  EXPECT_EQ(macs, count(g).macs);
  EXPECT_LE(step.size(), g.layers.size());
}

TEST_P(known_model, has_every_layer_after_its_producers) {
  const graph g = load_named(GetParam().name);
  for (std::size_t i = 0; i < g.layers.size(); ++i) {
    ASSERT_FALSE(g.layers[i].inputs.empty());
    for (const std::size_t input : g.layers[i].inputs) {
      EXPECT_TRUE(input == model_input || input < i) << g.layers[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(model, known_model, ::testing::ValuesIn(goldens),
                         [](const auto& tested) { return tested.param.name; });

/// Loads a model of these layers, with a parameter `batch` of 2.
graph load_layers(const std::string& layers) {
  const testing::temporary_directory directory;
  return load(directory.write("model.json", R"({"name": "m", "parameters": {"batch": 2},
                                                "layers": [)" +
                                                layers + "]}"));
}

std::vector<std::string> names(const graph& g) {
  std::vector<std::string> all;
  for (const layer& item : g.layers) all.push_back(item.name);
  return all;
}

TEST(load, puts_producers_first_and_keeps_the_files_order_otherwise) {
  const graph g = load_layers(R"(
      {"name": "join", "op": "add", "after": ["left", "right"], "shape": {"dims": [2, 4]}},
      {"name": "left", "op": "activation", "after": [], "shape": {"kind": "relu", "dims": [2, 4]}},
      {"name": "right", "op": "activation", "after": ["left"],
       "shape": {"kind": "tanh", "dims": [2, 4]}},
      {"name": "last", "op": "softmax", "after": ["join"], "shape": {"dims": [2, 4]}})");
  EXPECT_EQ(names(g), (std::vector<std::string>{"left", "right", "join", "last"}));
  EXPECT_EQ(g.layers[0].inputs, std::vector<std::size_t>{model_input});
  EXPECT_EQ(g.layers[1].inputs, std::vector<std::size_t>{0});
  EXPECT_EQ(g.layers[2].inputs, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(g.layers[3].inputs, std::vector<std::size_t>{2});
}

TEST(load, leaves_a_cache_of_no_tokens_out) {
  const testing::temporary_directory directory;
  const std::filesystem::path path = directory.write("decoder.json", testing::decoder_block);
  const graph prompt = load(path);
  EXPECT_EQ(names(prompt),
            (std::vector<std::string>{"words", "query", "query_rotary", "key", "key_rotary",
                                      "value", "attention", "add", "last", "head"}));
  EXPECT_EQ(prompt.layers[6].inputs, (std::vector<std::size_t>{2, 4, 5}));
  const graph decoding = load(path, {{"tokens", 1}, {"context", 6}});
  EXPECT_EQ(names(decoding).size(), 12U);
  EXPECT_EQ(decoding.layers[8].op.key(), "n:2,heads:4,q:1,k:7,d:4,kv_heads:2,causal:1");
  EXPECT_EQ(decoding.layers[10].op.key(), "dims:2x1x16,size:1") << "the last token is the first";
  EXPECT_EQ(prompt.layers[8].op.key(), "dims:2x4x16,begin:3,size:1");
  EXPECT_EQ(decoding.defaults, prompt.parameters);
  EXPECT_THROW(static_cast<void>(load(find("alexnet", LAYERBENCH_SHAPES_DIR), {{"tokens", 1}})),
               usage_error);
}

TEST(load, lets_a_branch_read_the_models_input) {
  const graph g = load_layers(R"(
      {"name": "left", "op": "activation", "shape": {"kind": "relu", "dims": [2, 4]}},
      {"name": "right", "op": "activation", "after": [], "shape": {"kind": "tanh", "dims": [2, 4]}},
      {"name": "join", "op": "add", "after": ["left", "right"], "shape": {"dims": [2, 4]}})");
  EXPECT_EQ(g.layers[0].inputs, std::vector<std::size_t>{model_input});
  EXPECT_EQ(g.layers[1].inputs, std::vector<std::size_t>{model_input});
}

TEST(load, lets_a_matrix_read_a_flattened_image) {
  const graph g = load_layers(R"(
      {"name": "image", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 3, 4, 5]}},
      {"name": "fc", "op": "gemm", "shape": {"m": "batch", "n": 10, "k": [3, 4, 5]}})");
  EXPECT_EQ(g.layers[1].op.key(), "m:2,n:10,k:60");
}

TEST(load, lets_a_matrix_read_the_tokens_of_a_recurrent_layer) {
  const graph g = load_layers(R"(
      {"name": "rnn", "op": "rnn", "shape": {"kind": "gru", "batch": "batch", "steps": 5,
       "inputs": 3, "hidden": 4, "layers": 1, "bidirectional": true, "biases": 2}},
      {"name": "fc", "op": "gemm", "shape": {"m": [5, "batch"], "n": 10, "k": 8}})");
  EXPECT_EQ(g.layers[0].op.key(),
            "kind:gru,batch:2,steps:5,inputs:3,hidden:4,bidirectional:1,biases:2");
  EXPECT_EQ(g.layers[1].op.key(), "m:10,n:10,k:8");
}

TEST(load, lets_a_layer_group_rows_otherwise) {
  const std::string scores = R"({"name": "scores", "op": "activation",
                                 "shape": {"kind": "relu", "dims": [["batch", 3], 5, 5]}},)";
  const graph g = load_layers(scores + R"({"name": "shares", "op": "softmax",
                                           "shape": {"dims": ["batch", 15, 5], "axis": 2}})");
  EXPECT_EQ(g.layers[1].op.key(), "dims:2x15x5,axis:2");
  EXPECT_THROW(load_layers(scores + R"({"name": "shares", "op": "softmax",
                                        "shape": {"dims": ["batch", 5, 15], "axis": 2}})"),
               bad_input);
}

TEST(load, understands_every_form_of_a_size) {
  const graph g = load_layers(R"(
      {"name": "conv1", "op": "conv", "shape": {"n": "batch", "c": 64.0, "h": [2, 3], "w": 6,
       "k": ["batch", 4], "r": 3, "s": 3, "stride": [1, 2], "pad": [1, 0, 2, 1]}},
      {"name": "conv2", "op": "conv", "shape": {"n": "batch", "c": 8, "h": 5, "w": 4,
       "k": 2, "r": 3, "s": 1, "pad": [1, 0]}},
      {"name": "conv3", "op": "conv", "shape": {"n": "batch", "c": 2, "h": 5, "w": 4,
       "k": 2, "r": 3, "s": 3, "pad": 1}})");
  EXPECT_EQ(g.layers[0].op.key(), "n:2,c:64,h:6,w:6,k:8,r:3,s:3,stride:1x2,pad:1x0x2x1");
  EXPECT_EQ(g.layers[1].op.key(), "n:2,c:8,h:5,w:4,k:2,r:3,s:1,pad:1x0");
  EXPECT_EQ(g.layers[2].op.key(), "n:2,c:2,h:5,w:4,k:2,r:3,s:3,pad:1");
}

TEST(load, counts_layers_that_share_their_work_once) {
  const graph g = load_layers(R"(
      {"name": "other", "op": "activation", "shape": {"kind": "tanh", "dims": [2, 4]}},
      {"name": "first", "op": "activation", "shape": {"kind": "relu", "dims": [2, 4]}},
      {"name": "again", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 4]}})");
  const std::vector<primitive> step = primitives(inference_step(g));
  ASSERT_EQ(step.size(), 2U);
  EXPECT_EQ(step[0].layer, "other");
  EXPECT_EQ(step[0].count(), 1);
  EXPECT_EQ(step[1].layer, "first");
  EXPECT_EQ(step[1].count(), 2);
}

TEST(load, counts_layers_behind_other_ops_apart) {
  const graph g = load_layers(R"(
      {"name": "norm1", "op": "batchnorm", "shape": {"n": "batch", "c": 4, "h": 8, "w": 8}},
      {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 4, 8, 8]}},
      {"name": "behind_relu", "op": "conv", "shape": {"n": "batch", "c": 4, "h": 8, "w": 8, "k": 4,
       "r": 3, "s": 3, "pad": 1}},
      {"name": "norm2", "op": "batchnorm", "shape": {"n": "batch", "c": 4, "h": 8, "w": 8}},
      {"name": "behind_norm", "op": "conv", "shape": {"n": "batch", "c": 4, "h": 8, "w": 8, "k": 4,
       "r": 3, "s": 3, "pad": 1}})");
  const step calls = inference_step(g);
  const std::vector<primitive> apart = primitives(calls);
  const auto behind_norm = std::ranges::find(apart, "behind_norm", &primitive::layer);
  ASSERT_NE(behind_norm, apart.end());
  EXPECT_EQ(behind_norm->after, "batchnorm");
  EXPECT_EQ(behind_norm->calls, std::vector{std::size_t{4}});
  const auto behind_relu = std::ranges::find(apart, "behind_relu", &primitive::layer);
  ASSERT_NE(behind_relu, apart.end());
  EXPECT_EQ(behind_relu->after, "");
  EXPECT_EQ(behind_relu->count(), 1);
  EXPECT_EQ(primitives_by_work(calls).size(), 3U);
}

TEST(inference_step, of_resnet50_has_60_primitives_for_175_layers) {
  const graph g = load_named("resnet50");
  EXPECT_EQ(g.layers.size(), 175U);
  EXPECT_EQ(primitives_by_work(inference_step(g)).size(), 55U);
  EXPECT_EQ(primitives(inference_step(g)).size(), 60U);
}

TEST(find, takes_paths_and_names) {
  EXPECT_EQ(find("some/where", LAYERBENCH_SHAPES_DIR), "some/where");
  EXPECT_EQ(find("mine.json", LAYERBENCH_SHAPES_DIR), "mine.json");
  EXPECT_TRUE(std::filesystem::exists(find("vgg16", LAYERBENCH_SHAPES_DIR)));
}

TEST(find, takes_aliases) {
  EXPECT_EQ(find("resnet50_v1.5", LAYERBENCH_SHAPES_DIR), find("resnet50", LAYERBENCH_SHAPES_DIR));
}

TEST(find, says_what_to_do_where_there_are_no_models) {
  const testing::temporary_directory empty;
  for (const std::filesystem::path& shapes : {empty.path(), empty.path() / "absent"}) {
    EXPECT_THAT([&] { static_cast<void>(find("vgg16", shapes)); },
                ::testing::ThrowsMessage<nothing_matched>(
                    testing::mentions(shapes.string(), "--shapes", "LAYERBENCH_SHAPES")));
  }
}

TEST(find, lists_similar_names_for_an_unknown_one) {
  EXPECT_THAT(
      [] { static_cast<void>(find("vgg17", LAYERBENCH_SHAPES_DIR)); },
      ::testing::ThrowsMessage<nothing_matched>(::testing::AllOf(
          testing::mentions("vgg17", "vgg16"), ::testing::Not(testing::mentions("alexnet")))));
}

TEST(LayerType, IsInKeysAndMustFitItsNeighbours) {
  const testing::temporary_directory directory;
  const auto model_with = [&](const std::string& type) {
    return load(directory.write("m.json", R"({"name": "m", "layers": [
          {"name": "a", "op": "activation", "shape": {"kind": "relu", "dims": [2, 3]}},
          {"name": "b", "op": "softmax", "type": ")" +
                                              type + R"(", "shape": {"dims": [2, 3]}}]})"));
  };
  const graph g = model_with("f32");
  EXPECT_EQ(g.layers.back().op.key(), "dims:2x3,type:f32");
  EXPECT_EQ(g.layers.back().op.operands(op::pass::fwd, dtype::bf16).front().type, dtype::f32);
  EXPECT_NO_THROW(static_cast<void>(inference_step(g, dtype::f32)));
  EXPECT_THROW(static_cast<void>(inference_step(g, dtype::bf16)), error) << "bf16 is read as f32";
  EXPECT_THROW(static_cast<void>(step_of(g, "training")), usage_error);
  EXPECT_THROW(static_cast<void>(model_with("f31")), bad_input);
}

}  // namespace model_graph_test
}  // namespace layerbench::model
