// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/base/split.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/result/name.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"

/// Which layers fusion plans join, and what their files may say.
namespace layerbench::model {
namespace model_fusion_test {

using ::testing::ElementsAre;
using testing::mentions;
using ::testing::SizeIs;

using texts = std::vector<std::string>;

graph load_named(const std::string& name) { return load(find(name, LAYERBENCH_SHAPES_DIR)); }

fusion_plan plan_of(const std::string& name) {
  return load_fusion(find_fusion(name, LAYERBENCH_SHAPES_DIR), op::builtin_catalog());
}

graph fused_by(const std::string& plan, const graph& g) {
  return fused(g, plan_of(plan), op::builtin_catalog());
}

texts names_of(const graph& g) {
  texts names;
  for (const layer& one : g.layers) names.push_back(one.name);
  return names;
}

/// A convolution or sum of 1*4*8*8 values, as a layer of a file.
std::string conv(const std::string& name, const std::string& after, const char* more = "") {
  return fmt::format(
      R"({{"name": "{}", "op": "conv", "after": [{}],
          "shape": {{"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 1, "s": 1{}}}}})",
      name, after, more);
}
std::string add(const std::string& name, const std::string& after) {
  return fmt::format(
      R"({{"name": "{}", "op": "add", "after": [{}], "shape": {{"dims": [1, 4, 8, 8]}}}})", name,
      after);
}
std::string relu(const std::string& name, const std::string& after) {
  return fmt::format(
      R"({{"name": "{}", "op": "activation", "after": [{}],
          "shape": {{"kind": "relu", "dims": [1, 4, 8, 8]}}}})",
      name, after);
}

class fusion : public ::testing::Test {
 protected:
  [[nodiscard]] graph model_of(const texts& layers) const {
    return load(directory_.write(
        "m.json", fmt::format(R"({{"name": "m", "layers": [{}]}})", fmt::join(layers, ","))));
  }
  /// The plan with a single rule for convolutions and sums.
  [[nodiscard]] graph fused_with(const std::string& rule, const graph& g) const {
    const auto path = directory_.write(
        "plan.json",
        fmt::format(R"({{"name": "p", "rules": [{{"ops": ["conv", "add"], {}}}]}})", rule));
    return fused(g, load_fusion(path, op::builtin_catalog()), op::builtin_catalog());
  }
  [[nodiscard]] std::string error_of(const std::string& plan) const {
    try {
      static_cast<void>(load_fusion(directory_.write("plan.json", plan), op::builtin_catalog()));
    } catch (const error& e) {
      EXPECT_EQ(e.code(), exit_code::bad_input);
      return e.what();
    }
    return "";
  }

  testing::temporary_directory directory_;
};

const op::post_ops& post_of(const layer& of) {
  if (const auto* addition = of.op.get<op::add>()) return addition->post;
  return of.op.get<op::conv>()->post;
}

TEST_F(fusion, of_resnet50_folds_all_batch_norms_and_sums_each_block_in_place) {
  const graph plain = load_named("resnet50");
  const graph result = fused_by("openvino", plain);
  std::map<std::string, int> ops;
  int sums = 0;
  for (const layer& one : result.layers) {
    ++ops[std::string(one.op.name())];
    const auto* convolution = one.op.get<op::conv>();
    if (convolution == nullptr) continue;
    EXPECT_TRUE(convolution->bias) << one.name;
    sums += static_cast<int>(std::ranges::count(convolution->post, op::post_op::sum));
    EXPECT_THAT(std::ranges::count(convolution->post, op::post_op::add), 0) << one.name;
  }
  EXPECT_EQ(ops["conv"], 53);
  EXPECT_EQ(ops["batchnorm"] + ops["activation"] + ops["add"], 0);
  EXPECT_EQ(sums, 16);
  EXPECT_EQ(count(result).macs, count(plain).macs);
  EXPECT_EQ(result.fusion, "openvino");
}

TEST_F(fusion, keeps_the_work_and_every_layer_of_all_models) {
  std::map<std::string, fusion_plan> plans;
  for (const std::string& name : list(LAYERBENCH_SHAPES_DIR, "fusions")) {
    plans.emplace(name, plan_of(name));
  }
  for (const std::string& name : list(LAYERBENCH_SHAPES_DIR)) {
    const graph plain = load_named(name);
    const auto macs = count(plain).macs;
    texts expected;
    for (const layer& one : plain.layers) {
      if (one.op.has(op::pass::fwd)) expected.push_back(one.name);
    }
    std::ranges::sort(expected);
    for (const auto& [plan_name, plan] : plans) {
      SCOPED_TRACE(name + ' ' + plan_name);
      const graph result = fused(plain, plan, op::builtin_catalog());
      EXPECT_EQ(count(result).macs, macs);
      texts all;
      for (const layer& joined : result.layers) {
        if (!joined.op.has(op::pass::fwd)) continue;  // a plan that joins nothing keeps these
        for (const auto part : split(joined.name, '+')) all.emplace_back(part);
      }
      std::ranges::sort(all);
      EXPECT_EQ(all, expected);
      for (std::size_t i = 0; i < result.layers.size(); ++i) {
        const layer& one = result.layers[i];
        EXPECT_EQ(one.inputs.size(), detail::of_role(one.op, op::role::source).size());
        for (const std::size_t input : one.inputs) {
          EXPECT_TRUE(input == model_input || input < i) << one.name;
        }
      }
    }
  }
}

TEST_F(fusion, takes_an_addition_into_its_first_source_and_overwrites_the_other) {
  const graph g = model_of({conv("a", ""), conv("b", "\"a\""), conv("c", "\"a\""),
                            add("sum", "\"c\", \"b\""), relu("r", "\"sum\"")});
  const graph result = fused_with(R"("then": [["add"], ["relu"]], "in_place": true)", g);
  EXPECT_THAT(names_of(result), ElementsAre("a", "b", "c+sum+r"));
  EXPECT_THAT(post_of(result.layers[2]), ElementsAre(op::post_op::sum, op::post_op::relu));
  EXPECT_THAT(result.layers[2].inputs, ElementsAre(0, 1));
}

TEST_F(fusion, overwrites_nothing_that_is_read_later_or_by_the_call_itself) {
  const std::string rule = R"("then": [["add"]], "in_place": true)";
  // `a` is read by `late`; `b` by the convolution that adds it; the input is nobody's to overwrite.
  const graph later =
      fused_with(rule, model_of({conv("a", ""), conv("b", "\"a\""), add("sum", "\"b\", \"a\""),
                                 add("late", "\"sum\", \"a\"")}));
  EXPECT_THAT(names_of(later), ElementsAre("a", "b+sum", "late"));
  EXPECT_THAT(post_of(later.layers[1]), ElementsAre(op::post_op::add));
  const graph own =
      fused_with(rule, model_of({conv("a", ""), conv("b", "\"a\""), add("sum", "\"b\", \"a\"")}));
  EXPECT_THAT(post_of(own.layers[1]), ElementsAre(op::post_op::add));
  const std::string block = R"({"name": "p", "op": "pad", "after": [],
                               "shape": {"dims": [1, 4, 8, 8], "before": [0, 0, 0, 0],
                                         "after": [0, 0, 0, 0]}})";
  const graph free = fused_with(
      rule, model_of({block, conv("a", "\"p\""), conv("b", ""), add("sum", "\"b\", \"a\"")}));
  EXPECT_THAT(post_of(free.layers.back()), ElementsAre(op::post_op::sum));
}

TEST_F(fusion, joins_nothing_that_two_layers_read) {
  const graph g =
      model_of({conv("a", ""), relu("r", "\"a\""), conv("b", "\"a\""), add("sum", "\"r\", \"b\"")});
  const graph result = fused_with(R"("then": [["relu"]])", g);
  EXPECT_THAT(names_of(result), ElementsAre("a", "r", "b", "sum"));
}

TEST_F(fusion, takes_as_many_layers_as_its_stages_say) {
  const graph g =
      model_of({conv("a", ""), relu("r1", "\"a\""), relu("r2", "\"r1\""), relu("r3", "\"r2\"")});
  EXPECT_THAT(names_of(fused_with(R"("then": [["relu"]])", g)), ElementsAre("a+r1", "r2", "r3"));
  EXPECT_THAT(names_of(fused_with(R"("then": [["add"], ["relu"], ["relu"]])", g)),
              ElementsAre("a+r1+r2", "r3"));
  EXPECT_THAT(names_of(fused_with(R"("then": [["relu"]], "repeat": true)", g)),
              ElementsAre("a+r1+r2+r3"));
  EXPECT_THAT(names_of(fused_with(R"("then": [["tanh"]])", g)), SizeIs(4));
}

TEST_F(fusion, joins_the_layers_that_a_rule_names_or_refuses) {
  const graph g = model_of({conv("a", ""), relu("r", "\"a\""), conv("b", "\"r\""),
                            relu("s", "\"b\""), conv("c", "\"s\"")});
  const auto with = [&](const std::string& layers) {
    const auto path = directory_.write(
        "plan.json", fmt::format(R"({{"name": "p", "rules": [{{"layers": [{}]}}]}})", layers));
    return fused(g, load_fusion(path, op::builtin_catalog()), op::builtin_catalog());
  };
  EXPECT_THAT(names_of(with(R"("b", "s")")), ElementsAre("a", "r", "b+s", "c"));
  EXPECT_THAT(names_of(with(R"("x", "y")")), SizeIs(5));  // of another model
  EXPECT_THROW(static_cast<void>(with(R"("a", "s")")), error);
  EXPECT_THROW(static_cast<void>(with(R"("s", "c")")), error);
}

TEST_F(fusion, unfuses_recurrent_layers_alone_and_keeps_them_trainable) {
  const graph plain = model_of({R"({"name": "a", "op": "rnn", "after": [], "shape": {
      "kind": "gru", "batch": 2, "steps": 3, "inputs": 4, "hidden": 5}})",
                                R"({"name": "d", "op": "dropout", "shape": {"dims": [6, 5]}})",
                                R"({"name": "b", "op": "rnn", "shape": {
      "kind": "lstm", "batch": 2, "steps": 3, "inputs": 5, "hidden": 4, "unfused": true}})"});
  const auto keys = [](const graph& g) {
    texts all;
    for (const layer& one : g.layers) all.push_back(one.op.key());
    return all;
  };
  const graph apart = fused_by("unfused", plain);
  EXPECT_THAT(names_of(apart), ElementsAre("a", "d", "b"));
  EXPECT_EQ(keys(apart)[0], keys(plain)[0] + ",unfused:1");
  EXPECT_EQ(keys(apart)[1], keys(plain)[1]);
  EXPECT_EQ(keys(apart)[2], keys(plain)[2]);
  EXPECT_EQ(apart.fusion, "unfused");
  EXPECT_NO_THROW(static_cast<void>(training_step(apart, dtype::f32, {})));
}

/// Of a layer: its name, the type of its first source, and that of its result.
std::string types_of(const layer& of) {
  const std::vector<op::operand> operands = of.op.operands(op::pass::fwd, dtype::s8);
  return fmt::format("{} {}>{}", of.name, name(operands.front().type), name(operands.back().type));
}

TEST_F(fusion, sets_fields_of_all_layers_of_an_op) {
  const graph plain = load_named("resnet50");
  const graph result = fused_by("pytorch", plain);
  EXPECT_EQ(names_of(result), names_of(plain));
  for (const layer& one : result.layers) {
    EXPECT_EQ(one.op.how() == op::manner::reorders, one.op.name() == op::conv::name) << one.name;
  }
  EXPECT_THROW(static_cast<void>(step_of(result, "training")), usage_error);
}

TEST_F(fusion, sets_fields_unless_others_have_certain_values) {
  const graph g = model_of({conv("a", ""), conv("b", "\"a\"", R"(, "bias": true)")});
  const auto path = directory_.write("plan.json", R"({"name": "p", "rules": [
      {"ops": ["conv"], "set": ["reorders"], "unless": {"r": 1, "bias": true}}]})");
  const graph result = fused(g, load_fusion(path, op::builtin_catalog()), op::builtin_catalog());
  EXPECT_EQ(result.layers[0].op.how(), op::manner::reorders);
  EXPECT_EQ(result.layers[1].op.how(), op::manner::direct);
}

/// How many convolutions, and how many products, a plan leaves to MKL.
std::pair<int, int> on_mkl(const graph& g) {
  std::pair<int, int> all;
  for (const layer& one : g.layers) {
    if (one.op.backend() != "mkl") continue;
    EXPECT_EQ(one.op.how(), op::manner::direct) << one.name;
    EXPECT_THAT(one.op.key(), ::testing::EndsWith(",backend:mkl"));
    ++(one.op.get<op::conv>() != nullptr ? all.first : all.second);
  }
  return all;
}

// aten::thnn_conv2d in the profiles of PyTorch 2.15 on one and two threads.
TEST_F(fusion, of_pytorch_names_the_library_of_each_call) {
  const auto found = [](const std::string& model, std::int64_t batch, std::optional<int> threads,
                        dtype type = dtype::f32) {
    const graph g = load(find(model, LAYERBENCH_SHAPES_DIR), {{"batch", batch}});
    return on_mkl(fused(g, plan_of("pytorch"), op::builtin_catalog(), type, threads));
  };
  using both = std::pair<int, int>;
  EXPECT_EQ(found("resnet50", 8, 1), both(33, 1)) << "1x1 without stride";
  EXPECT_EQ(found("resnet50", 16, 1), both(0, 1));
  EXPECT_EQ(found("resnet50", 1, 2), both(0, 1));
  EXPECT_EQ(found("resnet50", 8, std::nullopt), both(0, 1));
  EXPECT_EQ(found("mobilenet_v2", 1, 2), both(11, 1)) << "at most 20480 elements of one image";
  EXPECT_EQ(found("mobilenet_v2", 2, 2), both(0, 1));
  EXPECT_EQ(found("mobilenet_v2", 1, 1, dtype::bf16), both(0, 0));
}

TEST_F(fusion, names_the_backend_of_layers_and_keeps_it_in_keys) {
  const graph g = model_of({conv("a", ""), conv("b", "\"a\"")});
  const auto path = directory_.write(
      "plan.json", R"({"name": "p", "rules": [{"layers": ["b", "other"], "backend": "mine"}]})");
  const fusion_plan plan = load_fusion(path, op::builtin_catalog());
  EXPECT_FALSE(plan.joins_layers());
  const graph result = fused(g, plan, op::builtin_catalog());
  EXPECT_EQ(result.layers[0].op.key(), g.layers[0].op.key());
  const std::string key = result.layers[1].op.in(dtype::s8).key();
  const auto read = op::from_key(op::conv::name, key);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->backend(), "mine");
  EXPECT_EQ(read->own_type(), dtype::s8);
  EXPECT_EQ(read->key(), key);
  EXPECT_NO_THROW(static_cast<void>(training_step(result, dtype::f32, {})));
}

TEST_F(fusion, refuses_rules_of_calls_that_mean_nothing) {
  const auto error_in = [&](const std::string& rule) {
    return error_of(fmt::format(R"({{"name": "p", "rules": [{}]}})", rule));
  };
  EXPECT_THAT(error_in(R"({"ops": ["conv"], "backend": "No Name"})"), mentions("/rules/0/backend"));
  EXPECT_THAT(error_in(R"({"layers": ["a"], "set": ["reorders"]})"), mentions("/rules/0/set"));
  EXPECT_THAT(error_in(R"({"ops": ["conv"], "backend": "mkl", "at_most": {"stride": 1}})"),
              mentions("stride"));
  EXPECT_THAT(error_in(R"({"ops": ["conv"], "backend": "mkl", "at_most": {}})"),
              mentions("/rules/0/at_most"));
  EXPECT_THAT(error_in(R"({"layers": [], "backend": "mkl"})"), mentions("/rules/0/layers"));
  EXPECT_THAT(error_in(R"({"ops": ["conv"], "backend": "mkl", "where": {}})"),
              mentions("/rules/0/where"));
  EXPECT_THAT(error_in(R"({"ops": ["conv"], "backend": "mkl", "types": ["f99"]})"),
              mentions("/rules/0/types/0"));
}

TEST_F(fusion, gives_tensors_of_steps_in_s8_their_types) {
  const graph g = model_of({conv("a", ""), relu("r", "\"a\""), conv("e", "\"r\""),
                            conv("b", "\"e\""), add("sum", "\"b\", \"r\""), relu("s", "\"sum\""),
                            conv("c", "\"s\""), relu("t", "\"c\""), conv("d", "\"t\"")});
  const fusion_plan plan = plan_of("int8_default");
  const graph typed = fused(g, plan, op::builtin_catalog(), dtype::s8);
  texts types;
  for (const layer& one : typed.layers) types.push_back(types_of(one));
  EXPECT_THAT(types, ElementsAre("input_to_s8 f32>s8", "a+r s8>u8", "e u8>s8", "b+sum+s s8>u8",
                                 "c+t u8>u8", "d u8>f32"));
  const auto* join = typed.layers[3].op.get<op::conv>();
  ASSERT_NE(join, nullptr);
  EXPECT_EQ(join->addend_type, op::tensor_type::same) << "what it overwrites is u8, too";
  EXPECT_TRUE(join->channel_scales);
  EXPECT_THAT(join->dst_type, op::tensor_type::u8);
  EXPECT_THAT(typed.layers.back().op.key(), ::testing::EndsWith(",channel_scales:1,type:u8"));
  EXPECT_EQ(fused(g, plan, op::builtin_catalog(), dtype::bf16).layers.size(), 5U)
      << "other types stay as they are";
}

TEST_F(fusion, converts_tensors_for_layers_that_compute_in_f32) {
  const graph g = model_of({conv("a", ""), relu("r", "\"a\""), conv("b", "\"r\""),
                            R"({"name": "soft", "op": "softmax", "after": ["r"],
                                "shape": {"dims": [1, 4, 8, 8], "axis": 1}})",
                            conv("c", "\"soft\""), add("sum", "\"b\", \"c\"")});
  const graph typed = fused(g, plan_of("int8_default"), op::builtin_catalog(), dtype::s8);
  texts types;
  for (const layer& one : typed.layers) types.push_back(types_of(one));
  EXPECT_THAT(types, ElementsAre("input_to_s8 f32>s8", "a+r s8>u8", "a+r_to_f32 u8>f32",
                                 "soft f32>f32", "soft_to_s8 f32>s8", "c s8>f32", "b+sum u8>f32"));
}

TEST_F(fusion, in_s8_reads_results_of_relu_as_unsigned) {
  const graph g = model_of({conv("a", ""),
                            R"({"name": "norm", "op": "batchnorm", "after": ["a"],
                                "shape": {"n": 1, "c": 4, "h": 8, "w": 8}})",
                            relu("r", "\"norm\""), conv("b", "\"r\"")});
  const auto path = directory_.write("plan.json", R"({"name": "p", "int8": {"ops": ["conv"]},
      "rules": [{"ops": ["batchnorm"], "then": [["relu"]]}]})");
  const graph typed =
      fused(g, load_fusion(path, op::builtin_catalog()), op::builtin_catalog(), dtype::s8);
  texts types;
  for (const layer& one : typed.layers) types.push_back(types_of(one));
  EXPECT_THAT(types, ElementsAre("input_to_s8 f32>s8", "a s8>f32", "norm+r f32>f32",
                                 "norm+r_to_u8 f32>u8", "b u8>f32"));
}

TEST_F(fusion, in_s8_writes_sums_of_several_addends_as_f32) {
  const graph g =
      model_of({conv("a", ""), conv("b", "\"a\""), conv("c", "\"b\""), add("sum1", "\"c\", \"b\""),
                add("sum2", "\"sum1\", \"a\""), conv("d", "\"sum2\"")});
  const graph typed = fused(g, plan_of("int8_default"), op::builtin_catalog(), dtype::s8);
  const auto join = std::ranges::find(typed.layers, "c+sum1+sum2", &layer::name);
  ASSERT_NE(join, typed.layers.end());
  EXPECT_EQ(types_of(*join), "c+sum1+sum2 s8>f32");
  EXPECT_NO_THROW(static_cast<void>(inference_step(typed, dtype::s8)));
}

TEST_F(fusion, in_s8_refuses_models_with_types) {
  const std::string typed = conv("a", "");
  const graph g =
      model_of({typed.substr(0, typed.size() - 1) + R"(, "type": "f32"})", conv("b", "\"a\"")});
  EXPECT_THROW(
      static_cast<void>(fused(g, plan_of("int8_default"), op::builtin_catalog(), dtype::s8)),
      error);
}

/// Bytes of what the model keeps from step to step.
std::int64_t kept_bytes(const graph& g, dtype type) {
  std::int64_t sum = 0;
  for (const kept_tensor& one : inference_step(g, type).kept) sum += op::bytes(one.logical);
  return sum;
}

// Published: 1.24 billion parameters, with the words' table counted once (model card of
// Llama-3.2-1B, https://huggingface.co/meta-llama/Llama-3.2-1B).
TEST_F(fusion, w4_narrows_the_weights_of_products_alone) {
  const graph g = load_named("llama_1b");
  const graph narrow = fused_by("w4", g);
  constexpr std::int64_t parameters = 1235814400;
  constexpr std::int64_t products = parameters - 33 * 2048;
  EXPECT_EQ(count(narrow).parameters, parameters);
  EXPECT_EQ(inference_step(g).tied.size(), 1U);
  EXPECT_TRUE(inference_step(narrow).tied.empty())
      << "the words are in f32, the output's weights in s4";
  EXPECT_EQ(count(narrow).macs, count(g).macs);
  EXPECT_THAT(narrow.inference_only, testing::HasWord("narrow"));
  EXPECT_EQ(kept_bytes(g, dtype::bf16) - kept_bytes(narrow, dtype::bf16),
            products * 2 - (products / 2 + products / 32 * 2));
  for (const layer& one : narrow.layers) {
    const auto* product = one.op.get<op::gemm>();
    if (product == nullptr) continue;
    EXPECT_EQ(product->weights_type, op::narrow_type::s4) << one.name;
  }
}

TEST_F(fusion, leaves_weights_that_its_groups_do_not_divide_or_of_odd_sizes) {
  const graph g = model_of({R"({"name": "a", "op": "gemm", "shape": {"m": 2, "n": 48, "k": 64}})",
                            R"({"name": "b", "op": "gemm", "shape": {"m": 2, "n": 64, "k": 48}})",
                            R"({"name": "c", "op": "gemm", "shape": {"m": 2, "n": 7, "k": 64}})"});
  const graph narrow = fused_by("w4", g);
  EXPECT_EQ(narrow.layers[0].op.key(), "m:2,n:48,k:64,weights_type:s4,group_size:32");
  for (const std::size_t i : {1U, 2U}) EXPECT_EQ(narrow.layers[i].op.key(), g.layers[i].op.key());
}

TEST_F(fusion, in_s8_gives_both_ends_of_each_edge_one_type) {
  for (const std::string name : {"resnet50", "vgg16", "googlenet_v1", "mobilenet_v2", "densenet121",
                                 "efficientnet_b0", "bert_base"}) {
    SCOPED_TRACE(name);
    const graph typed =
        fused(load_named(name), plan_of("int8_default"), op::builtin_catalog(), dtype::s8);
    std::map<std::size_t, dtype> written;
    for (std::size_t i = 0; i < typed.layers.size(); ++i) {
      const std::vector<op::operand> operands =
          typed.layers[i].op.operands(op::pass::fwd, dtype::s8);
      std::size_t source = 0;
      for (const op::operand& operand : operands) {
        if (operand.role != op::role::source) continue;
        const std::size_t from = typed.layers[i].inputs.at(source++);
        const dtype type = from == model_input ? dtype::f32 : written.at(from);
        EXPECT_EQ(operand.type, type) << typed.layers[i].name << ' ' << operand.name;
      }
      written[i] = operands.back().type;
    }
  }
}

TEST_F(fusion, in_s8_counts_weights_of_two_layers_once) {
  const graph g = load_named("gpt2");
  const graph typed = fused(g, plan_of("int8_default"), op::builtin_catalog(), dtype::s8);
  EXPECT_EQ(count(typed).parameters, count(g).parameters);
}

TEST_F(fusion, is_for_inference_only) {
  const graph result = fused_by("fold_bn", load_named("resnet18"));
  EXPECT_THROW(static_cast<void>(step_of(result, "training")), usage_error);
}

TEST_F(fusion, files_are_checked) {
  EXPECT_THAT(error_of(R"({"name": "p", "rules": [{"ops": ["conv"], "then": [["gulp"]]}]})"),
              testing::HasWord("/rules/0/then/0/0"));
  EXPECT_THAT(error_of(R"({"name": "p", "rules": [{"ops": ["pool"], "then": [["relu"]]}]})"),
              testing::HasWord("/rules/0/ops/0"));
  EXPECT_THAT(error_of(R"({"name": "none", "rules": [{"ops": ["conv"], "then": [["relu"]]}]})"),
              testing::HasWord("/name"));
  EXPECT_THAT(error_of(R"({"name": "p", "rules": []})"), testing::HasWord("/rules"));
  EXPECT_THAT(
      error_of(R"({"name": "p", "rules": [{"ops": ["conv"], "then": [["add"]], "more": 1}]})"),
      testing::HasWord("more"));
  EXPECT_THAT(
      error_of(R"({"name": "p", "rules": [{"ops": ["conv", "gemm"], "set": ["reorders"]}]})"),
      testing::HasWord("/rules/0/set/0"));
  EXPECT_THAT(error_of(R"({"name": "p", "rules": [{"ops": ["conv"], "set": ["bias"]}]})"),
              testing::HasWord("/rules/0/set/0"));
  EXPECT_THAT(error_of(R"({"name": "p", "rules": [{"ops": ["conv"], "set": []}]})"),
              testing::HasWord("/rules/0/set"));
  const auto error_of_unless = [&](const std::string& text) {
    return error_of(R"({"name": "p", "rules": [{"ops": ["conv"], "set": ["reorders"], "unless": )" +
                    text + "}]}");
  };
  EXPECT_THAT(error_of_unless(R"({"window": 1})"), testing::HasWord("window"));
  EXPECT_THAT(error_of_unless(R"({"r": "1x"})"), testing::HasWord("/rules/0/unless/r"));
  EXPECT_THAT(error_of_unless("{}"), testing::HasWord("/rules/0/unless"));
  const auto error_of_int8 = [&](const std::string& text) {
    return error_of(R"({"name": "p", "rules": [{"ops": ["conv"], "then": [["relu"]]}], "int8": )" +
                    text + "}");
  };
  EXPECT_THAT(error_of_int8(R"({"ops": ["softmax"]})"), testing::HasWord("/int8/ops/0"));
  EXPECT_THAT(error_of_int8(R"({"ops": ["conv"], "keeps": ["conv"]})"),
              testing::HasWord("/int8/keeps/0"));
  EXPECT_THAT(error_of_int8(R"({"keeps": []})"), testing::HasWord("/int8"));
  const auto error_of_weights = [&](const std::string& text) {
    return error_of(R"({"name": "p", "rules": [], "weights": )" + text + "}");
  };
  EXPECT_THAT(error_of_weights(R"({"group_size": 32})"), testing::HasWord("/weights"));
  EXPECT_THAT(error_of_weights(R"({"type": "f8_e4m3"})"), testing::HasWord("/weights/type"));
  EXPECT_THAT(error_of_weights(R"({"type": "s4", "group_size": 0})"),
              testing::HasWord("/weights/group_size"));
  EXPECT_THROW(static_cast<void>(find_fusion("unknown", LAYERBENCH_SHAPES_DIR)), nothing_matched);
}

TEST_F(fusion, post_ops_of_a_file_are_read_and_checked) {
  const graph g = model_of({conv("a", ""), conv("b", "\"a\""),
                            conv("c", "\"b\", \"a\"", R"(, "post": ["sum", "relu"])")});
  EXPECT_EQ(g.layers[2].op.key(), "n:1,c:4,h:8,w:8,k:4,r:1,s:1,post:sum+relu");
  EXPECT_THROW(static_cast<void>(step_of(g, "training")), usage_error);
  const step all = inference_step(g);
  // `c` writes where `a` did.
  EXPECT_EQ(all.calls[2].tensors.back(), all.calls[0].tensors.back());
  const auto refused = [&](const texts& layers) {
    EXPECT_THROW(static_cast<void>(model_of(layers)), bad_input);
  };
  refused({conv("a", "", R"(, "post": ["sum"])")});  // has two sources
  refused({conv("a", ""), conv("b", "\"a\", \"a\"", R"(, "post": ["sum"])")});
  refused({conv("a", ""), conv("b", "\"a\""), conv("c", "\"b\", \"a\"", R"(, "post": ["sum"])"),
           relu("late", "\"a\"")});
  const std::string drop = R"({"name": "drop", "op": "dropout", "after": ["a"],
                               "shape": {"dims": [1, 4, 8, 8]}})";
  refused({conv("a", ""), drop, conv("b", "\"a\""),
           conv("c", "\"b\", \"a\"", R"(, "post": ["sum"])"), relu("late", "\"drop\"")});
  refused({conv("a", ""), drop, conv("c", "\"drop\", \"a\"", R"(, "post": ["sum"])")});
  refused({conv("a", "", R"(, "post": ["relu7"])")});
  refused({conv("a", "", R"(, "post": "relu")")});
  refused({conv("a", ""), conv("b", "\"a\""),
           conv("c", "\"b\", \"a\", \"a\"", R"(, "post": ["sum", "sum"])")});
}

}  // namespace model_fusion_test
}  // namespace layerbench::model
