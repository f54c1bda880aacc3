// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/cudnn/backend.hpp>
#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/backend/cudnn/saved_plans.hpp>
#include <layerbench/model/graph.hpp>

#include "support/temporary_directory.hpp"

/// The choice of cuDNN's plans for a GPU that is described, not there.
namespace layerbench {
namespace {

using cudnn::execution_plan;
using cudnn::plan_limits;
using ::testing::HasSubstr;

constexpr std::size_t gigabyte = 1'000'000'000;

const cudnn::descriptor& h200() {
  static const cudnn::descriptor gpu = cudnn::gpu_described_by(
      json::parse_file(LAYERBENCH_SOURCE_DIR "/tests/support/h200.json").at("device").dump());
  return gpu;
}

/// The distinct convolutions of the models at batch 32, by key.
std::map<std::string, op::conv> convolutions() {
  std::map<std::string, op::conv> all;
  for (const std::string name : {"resnet50", "vgg16", "alexnet"}) {
    for (const model::layer& each :
         model::load(LAYERBENCH_SHAPES_DIR "/models/" + name + ".json", 32).layers) {
      if (const auto* conv = each.op.get<op::conv>()) all.emplace(each.op.key(), *conv);
    }
  }
  return all;
}

bool has(const execution_plan& plan, cudnnBackendNumericalNote_t note) {
  return std::ranges::find(plan.notes(), note) != plan.notes().end();
}

void expect_right_arithmetic(const execution_plan& plan, dtype type) {
  const bool tensor_core = has(plan, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  EXPECT_FALSE(type == dtype::f32 && tensor_core);
  EXPECT_FALSE(type == dtype::tf32 && !tensor_core);
  EXPECT_FALSE(has(plan, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
}

class EveryConvolution : public ::testing::TestWithParam<dtype> {};

TEST_P(EveryConvolution, HasPlansWithinTheLimitsThatCanBeReplayed) {
  const plan_limits limits{GetParam(), gigabyte};
  const auto all = convolutions();
  EXPECT_EQ(all.size(), 37U);  // 23 + 9 + 5
  for (const layout order : {layout::nhwc, layout::nchw}) {
    for (const auto& [key, conv] : all) {
      for (const op::pass pass : op::conv::passes()) {
        const plan_request request{pass, limits.type, order};
        SCOPED_TRACE(cudnn::work_of(conv, request));
        const cudnn::conv_graph graph(conv, request);
        const auto plans = cudnn::all_plans(graph.self(), h200(), limits);
        ASSERT_FALSE(plans.empty());
        EXPECT_EQ(cudnn::first_plan(graph.self(), h200(), limits).choice(), plans[0].choice());
        for (const execution_plan& each : plans) {
          expect_right_arithmetic(each, limits.type);
          EXPECT_LE(each.workspace_bytes(), limits.workspace_bytes);
          const auto again = cudnn::replayed_plan(graph.self(), h200(), limits, each.choice());
          EXPECT_EQ(again.choice(), each.choice());
          EXPECT_EQ(again.workspace_bytes(), each.workspace_bytes());
          EXPECT_EQ(again.notes(), each.notes());
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(In, EveryConvolution,
                         ::testing::Values(dtype::f32, dtype::tf32, dtype::f16, dtype::bf16),
                         [](const auto& each) { return std::string(name(each.param)); });

const op::conv conv3x3{
    .n = 32, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};

std::vector<std::string> choices(const std::vector<execution_plan>& plans) {
  std::vector<std::string> texts;
  for (const execution_plan& each : plans) texts.push_back(each.choice().text());
  return texts;
}

TEST(Plans, ThatNeedMoreWorkspaceAreLeftOut) {
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::f32, layout::nhwc});
  const auto all = cudnn::all_plans(graph.self(), h200(), {dtype::f32, gigabyte});
  const auto none = cudnn::all_plans(graph.self(), h200(), {dtype::f32, 0});
  EXPECT_THAT(none, ::testing::Each(::testing::Property(&execution_plan::workspace_bytes, 0U)));
  EXPECT_LT(none.size(), all.size());
  EXPECT_FALSE(none.empty());
  EXPECT_THAT(choices(all), ::testing::IsSupersetOf(choices(none)));
}

TEST(Plans, OfOneGraphDiffer) {
  for (const dtype type : {dtype::f32, dtype::tf32, dtype::bf16}) {
    const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, type, layout::nhwc});
    const auto texts = choices(cudnn::all_plans(graph.self(), h200(), {type, gigabyte}));
    EXPECT_GT(texts.size(), 1U);
    EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size());
  }
}

TEST(Plans, ThatDoNotExistAreUnsupported) {
  EXPECT_THROW(cudnn::conv_graph(conv3x3, {op::pass::fwd, dtype::s8, layout::nhwc}), unsupported);
  // A kernel of tf32 needs scratch memory for its sums here.
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  try {
    static_cast<void>(cudnn::first_plan(graph.self(), h200(), {dtype::tf32, 0}));
    ADD_FAILURE() << "a plan without workspace";
  } catch (const unsupported& slip) {
    EXPECT_THAT(slip.what(), HasSubstr("cuDNN has no plan in tf32 with up to 0 bytes"));
  }
}

TEST(ReplayedPlan, MustKeepToTheLimits) {
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  const auto plan = cudnn::first_plan(graph.self(), h200(), {dtype::tf32, gigabyte});
  EXPECT_THROW(static_cast<void>(cudnn::replayed_plan(graph.self(), h200(), {dtype::f32, gigabyte},
                                                      plan.choice())),
               unsupported);
  EXPECT_THROW(static_cast<void>(cudnn::replayed_plan(
                   graph.self(), h200(), {dtype::tf32, plan.workspace_bytes() - 1}, plan.choice())),
               unsupported);
}

TEST(ReplayedPlan, OfAnEngineThatTheLibraryHasNotFails) {
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  EXPECT_THROW(static_cast<void>(cudnn::replayed_plan(graph.self(), h200(), {dtype::tf32, gigabyte},
                                                      {100000, {}})),
               error);
}

class SavedPlans : public ::testing::Test {
 protected:
  /// What is said of a file with that text.
  std::string complaint(const std::string& text) {
    cudnn::saved_plans plans("9.19.0", "NVIDIA H200");
    try {
      plans.read(here_.write("plans.json", text));
    } catch (const bad_input& slip) {
      return slip.what();
    }
    return "none";
  }

  testing::temporary_directory here_;
  cudnn::saved_plans plans_{"9.19.0", "NVIDIA H200"};
};

TEST_F(SavedPlans, AreReadAsTheyWereWritten) {
  const plan_request request{op::pass::bwd_data, dtype::bf16, layout::nhwc};
  const cudnn::conv_graph graph(conv3x3, request);
  const auto plan = cudnn::first_plan(graph.self(), h200(), {request.type, gigabyte});
  EXPECT_FALSE(plan.choice().knobs.empty());
  plans_.add(cudnn::work_of(conv3x3, request), plan.choice());
  cudnn::saved_plans read("9.19.0", "NVIDIA H200");
  read.read(here_.write("plans.json", plans_.text()));
  EXPECT_EQ(read.text(), plans_.text());
  const auto choice = read.find("conv/bwd_data/bf16/nhwc/n:32,c:64,h:56,w:56,k:64,r:3,s:3,pad:1");
  ASSERT_TRUE(choice);
  const auto again = cudnn::replayed_plan(graph.self(), h200(), {request.type, gigabyte}, *choice);
  EXPECT_EQ(again.choice(), plan.choice());
  EXPECT_EQ(again.workspace_bytes(), plan.workspace_bytes());
  EXPECT_FALSE(read.find("conv/fwd/bf16/nhwc/n:32,c:64,h:56,w:56,k:64,r:3,s:3,pad:1"));
}

TEST_F(SavedPlans, OfAnotherLibraryOrGpuAreRefused) {
  EXPECT_THAT(complaint(cudnn::saved_plans("9.8.0", "NVIDIA H200").text()),
              ::testing::AllOf(HasSubstr("plans.json: at /cudnn_version: "),
                               HasSubstr("chosen for 9.8.0, here is 9.19.0; choose them again")));
  EXPECT_THAT(complaint(cudnn::saved_plans("9.19.0", "NVIDIA H100").text()),
              HasSubstr("plans.json: at /gpu: "));
}

TEST_F(SavedPlans, ThatAreBrokenNameThePlace) {
  plans_.add("w", {7, {{2, 1}}});
  const auto with = [&](const std::string& old, const std::string& changed) {
    std::string text = plans_.text();
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return complaint(text.replace(at, old.size(), changed));
  };
  EXPECT_EQ(complaint(plans_.text()), "none");
  EXPECT_THAT(with("\"schema\": 1", "\"schema\": 2"), HasSubstr("at /schema: "));
  EXPECT_THAT(with("\"engine\": 7", "\"engine\": -7"), HasSubstr("at /plans/w/engine: "));
  EXPECT_THAT(with("\"engine\": 7", "\"motor\": 7"), HasSubstr("at /plans/w/motor: "));
  EXPECT_THAT(with("     2,", "     2, 3,"), HasSubstr("at /plans/w/knobs/0: "));
  EXPECT_THAT(with("}", ""), HasSubstr("plans.json: "));
}

}  // namespace
}  // namespace layerbench
