// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <map>
#include <string>

#include <dlfcn.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/cudnn/attention.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/layernorm.hpp>

#include "support/h200.hpp"

/// Plans whose kernels cuDNN compiles, for a GPU that is described, not there.
namespace layerbench {
namespace {

using cudnn::execution_plan;
using cudnn::plan_limits;
using ::testing::ElementsAre;
using testing::h200;
using ::testing::HasSubstr;

constexpr std::size_t gigabyte = 1'000'000'000;

/// cuDNN finds the stand-in by the name of the driver, since it is loaded first.
void load_driver() {
  ASSERT_NE(::dlopen(LAYERBENCH_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << ::dlerror();
}

class attention_plans : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_driver(); }
};

const op::attention bert{.n = 32, .heads = 12, .q = 512, .k = 512, .d = 64};
const op::attention gpt2{.n = 4, .heads = 12, .q = 1024, .k = 1024, .d = 64, .causal = true};
const op::attention llama{
    .n = 1, .heads = 32, .q = 1024, .k = 1024, .d = 128, .kv_heads = 8, .causal = true};

std::map<std::string, op::attention> shapes() {
  std::map<std::string, op::attention> all{
      {"bert", bert},
      {"short_bert", {.n = 1, .heads = 12, .q = 128, .k = 128, .d = 64}},
      {"vit", {.n = 16, .heads = 12, .q = 197, .k = 197, .d = 64}},
      {"gpt2", gpt2},
      {"llama_prefill", llama}};
  op::attention decode = llama;
  decode.q = 1;
  all.emplace("llama_decode", decode);
  decode.n = 8;
  decode.k = 1500;
  all.emplace("llama_decode_of_8", decode);
  op::attention chunk = llama;
  chunk.q = 100;
  all.emplace("llama_chunk", chunk);
  return all;
}

TEST_F(attention_plans, OfModelsHasPlans) {
  for (const auto& [shape, o] : shapes()) {
    for (const op::pass pass : op::attention::passes()) {
      SCOPED_TRACE(fmt::format("{} {}", shape, name(pass)));
      const cudnn::attention_graph graph(o, pass, dtype::bf16);
      const auto plan = cudnn::first_plan(graph.self(), h200(), {dtype::bf16, gigabyte});
      EXPECT_THAT(plan.notes(), ElementsAre(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    }
  }
}

TEST_F(attention_plans, HasOtherPlansForASearchWhichCanBeReplayed) {
  const plan_limits limits{dtype::f16, gigabyte};
  for (const op::pass pass : op::attention::passes()) {
    SCOPED_TRACE(name(pass));
    const cudnn::attention_graph graph(gpt2, pass, limits.type);
    const execution_plan own = cudnn::first_plan(graph.self(), h200(), limits);
    const auto others = cudnn::proposed_plans(graph.self(), h200(), limits, {{own.choice()}, 1}, 2);
    ASSERT_EQ(others.size(), 1U);
    const auto again = cudnn::replayed_plan(graph.self(), h200(), limits, others[0].text());
    EXPECT_EQ(again.text(), others[0].text());
    EXPECT_EQ(again.workspace_bytes(), others[0].workspace_bytes());
  }
}

TEST_F(attention_plans, StoresNoScores) {
  const std::size_t scores = 4UL * 12 * 1024 * 1024;
  for (const op::pass pass : op::attention::passes()) {
    const cudnn::attention_graph graph(gpt2, pass, dtype::bf16);
    const auto plan = cudnn::first_plan(graph.self(), h200(), {dtype::bf16, gigabyte});
    EXPECT_LT(plan.workspace_bytes() + graph.scratch_bytes(), scores) << name(pass);
  }
}

/// The message of the error.
std::string refusal(const op::attention& o, op::pass pass, dtype type) {
  try {
    const cudnn::attention_graph graph(o, pass, type);
    static_cast<void>(cudnn::first_plan(graph.self(), h200(), {type, gigabyte}));
  } catch (const unsupported& e) {
    return e.what();
  }
  return {};
}

TEST_F(attention_plans, OfOtherTypesAndSizesAreUnsupported) {
  for (const dtype type : {dtype::f32, dtype::tf32, dtype::s8}) {
    EXPECT_THAT(refusal(bert, op::pass::fwd, type), HasSubstr("attention in f16 and bf16"));
  }
  op::attention o = bert;
  o.d = 60;
  EXPECT_THAT(refusal(o, op::pass::fwd, dtype::bf16), HasSubstr("multiple of 8"));
  o.d = 264;
  EXPECT_EQ(refusal(o, op::pass::fwd, dtype::bf16), "");
  EXPECT_THAT(refusal(o, op::pass::bwd, dtype::bf16), HasSubstr("cuDNN has no plan in bf16"));
  o = {.q = 1, .k = 1, .d = 64};
  EXPECT_EQ(refusal(o, op::pass::fwd_training, dtype::bf16), "");
  EXPECT_THAT(refusal(o, op::pass::bwd, dtype::bf16), HasSubstr("one query and one key"));
}

class convolution_plans : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_driver(); }
};

TEST_F(convolution_plans, WithEachActivationFunctionAreCompiled) {
  const std::array types{dtype::f16, dtype::bf16, dtype::tf32};
  for (std::size_t i = 0; i < enum_names<op::activation_kind>.size(); ++i) {
    const auto kind = static_cast<op::activation_kind>(i);
    // Each takes a second: a function is compiled in one type, types in turn, and relu in all.
    for (const dtype type : types) {
      if (kind != op::activation_kind::relu && type != types[i % types.size()]) continue;
      SCOPED_TRACE(fmt::format("{} {}", name(kind), name(type)));
      op::conv o{.n = 32, .c = 64, .h = 56, .w = 56, .k = 128};
      o.bias = true;
      o.post = {op::post_op_of(kind)};
      const cudnn::conv_graph graph(o, {.type = type});
      const execution_plan plan = cudnn::first_plan(graph.self(), h200(), {type, gigabyte});
      EXPECT_THAT(plan.notes(), ::testing::Contains(CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
          << plan.text();
    }
  }
}

/// What plans with a kernel for post-ops are for: cuDNN joins to these only relu and sums in bf16.
TEST_F(convolution_plans, OfDepthwiseConvolutionsHaveFastPlansWithoutPostOps) {
  const op::conv plain{.n = 32,
                       .c = 96,
                       .h = 112,
                       .w = 112,
                       .k = 96,
                       .r = 3,
                       .s = 3,
                       .stride = {2, 2},
                       .pad = {1, 1, 1, 1},
                       .groups = 96,
                       .bias = true};
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    const auto is_fast = [&](const op::conv& o) {
      const cudnn::conv_graph graph(o, {.type = type});
      try {
        return !cudnn::first_plan(graph.self(), h200(), {type, gigabyte}).is_fallback();
      } catch (const unsupported&) {
        return false;
      }
    };
    op::conv fused = plain;
    EXPECT_TRUE(is_fast(plain)) << name(type);
    fused.post = {op::post_op::relu};
    EXPECT_TRUE(is_fast(fused)) << name(type);
    fused.post = {op::post_op_of(op::activation_kind::relu6)};
    EXPECT_EQ(is_fast(fused), type == dtype::f16) << name(type);
  }
}

TEST_F(convolution_plans, InEightBitsAreCompiled) {
  const op::conv square{
      .n = 32, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};
  op::conv fused = square;
  fused.bias = true;
  fused.post = {op::post_op::relu};
  for (const op::conv& o : {square, fused}) {
    const plan_request request{.type = dtype::f8_e4m3};
    for (const bool fast : {false, true}) {
      const cudnn::conv_graph graph(o, request, fast);
      const execution_plan plan = cudnn::first_plan(graph.self(), h200(), {request.type, gigabyte});
      EXPECT_THAT(plan.notes(), ElementsAre(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    }
  }
}

class layernorm_gradients : public ::testing::TestWithParam<dtype> {
 protected:
  static void SetUpTestSuite() { load_driver(); }

  static execution_plan plan_of(const op::layernorm& o) {
    SCOPED_TRACE(op::any(o).key());
    return cudnn::first_plan(cudnn::layernorm_graph(o, GetParam()).self(), h200(),
                             {GetParam(), gigabyte});
  }
};

TEST_P(layernorm_gradients, OfModelsHavePlans) {
  for (const op::layernorm& o : {
           op::layernorm{.dims = {32, 128, 768}},                                 // BERT
           op::layernorm{.dims = {197, 768}, .bias = false},                      // ViT
           op::layernorm{.dims = {2048, 4096}, .kind = op::layernorm_kind::rms},  // Llama
       }) {
    EXPECT_NO_THROW(static_cast<void>(plan_of(o)));
  }
}

TEST_P(layernorm_gradients, OfOddSizesHavePlans) {
  for (const dims& sizes : {dims{7, 33}, {3, 1}}) {
    const op::layernorm odd{.dims = sizes, .scale = false};
    EXPECT_NO_THROW(static_cast<void>(plan_of(odd)));
  }
}

TEST_P(layernorm_gradients, HavePlansThatCanBeReplayed) {
  const cudnn::layernorm_graph graph({.dims = {3, 8}}, GetParam());
  const plan_limits limits{GetParam(), gigabyte};
  const auto plan = cudnn::first_plan(graph.self(), h200(), limits);
  const auto again = cudnn::replayed_plan(graph.self(), h200(), limits, plan.text());
  EXPECT_EQ(again.text(), plan.text());
  EXPECT_EQ(again.workspace_bytes(), plan.workspace_bytes());
}

INSTANTIATE_TEST_SUITE_P(In, layernorm_gradients,
                         ::testing::Values(dtype::f32, dtype::f16, dtype::bf16),
                         [](const auto& item) { return std::string(name(item.param)); });

}  // namespace
}  // namespace layerbench
