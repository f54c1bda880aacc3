// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/cudnn/execution_plan.hpp>
#include <layerbench/backend/cudnn/graph.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/shape/record_json.hpp>

#include "support/h200.hpp"

/// The choice of cuDNN's plans for a GPU that is described, not there.
namespace layerbench {
namespace {

std::size_t plans_finalized = 0;  ///< execution plans, by cuDNN
std::set<cudnnBackendDescriptor_t> open_plans;

template <class Function>
Function* of_cudnn(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace layerbench

// In front of cuDNN's own, to count.
extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* created) {
  using namespace layerbench;
  static auto* const real =
      of_cudnn<decltype(cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor");
  const cudnnStatus_t status = real(type, created);
  open_plans.erase(*created);
  if (type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) open_plans.insert(*created);
  return status;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  using namespace layerbench;
  static auto* const real = of_cudnn<decltype(cudnnBackendFinalize)>("cudnnBackendFinalize");
  const cudnnStatus_t status = real(descriptor);
  if (open_plans.erase(descriptor) > 0 && status == CUDNN_STATUS_SUCCESS) ++plans_finalized;
  return status;
}

}  // extern "C"

namespace layerbench {
namespace {

using cudnn::execution_plan;
using cudnn::plan_limits;
using testing::h200;
using ::testing::HasSubstr;

constexpr std::size_t gigabyte = 1'000'000'000;

/// The distinct convolutions of the models at batch 32, by key.
std::map<std::string, op::conv> convolutions(const std::vector<std::string>& models = {
                                                 "resnet50", "vgg16", "alexnet"}) {
  std::map<std::string, op::conv> all;
  for (const std::string& name : models) {
    for (const model::layer& layer :
         model::load(LAYERBENCH_SHAPES_DIR "/models/" + name + ".json", 32).layers) {
      if (const auto* conv = layer.op.get<op::conv>()) all.emplace(layer.op.key(), *conv);
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
  for (const layout image_layout : {layout::nhwc, layout::nchw}) {
    for (const auto& [key, conv] : all) {
      for (const op::pass pass : op::conv{}.passes()) {
        const plan_request request{pass, limits.type, image_layout};
        SCOPED_TRACE(key + " " + std::string(name(pass)) + " " + std::string(name(image_layout)));
        const cudnn::conv_graph graph(conv, request);
        const auto plans = cudnn::proposed_plans(graph.self(), h200(), limits);
        ASSERT_FALSE(plans.empty());
        EXPECT_EQ(cudnn::first_plan(graph.self(), h200(), limits).choice(), plans[0].choice());
        for (const execution_plan& plan : plans) {
          expect_right_arithmetic(plan, limits.type);
          EXPECT_LE(plan.workspace_bytes(), limits.workspace_bytes);
          const auto again = cudnn::replayed_plan(graph.self(), h200(), limits, plan.text());
          EXPECT_EQ(again.choice(), plan.choice());
          EXPECT_EQ(again.workspace_bytes(), plan.workspace_bytes());
          EXPECT_EQ(again.notes(), plan.notes());
          EXPECT_EQ(again.text(), plan.text());
          EXPECT_TRUE(plan.text().ends_with("[mode_a]") || plan.text().ends_with("[fallback]"));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(In, EveryConvolution,
                         ::testing::Values(dtype::f32, dtype::tf32, dtype::f16, dtype::bf16),
                         [](const auto& item) { return std::string(name(item.param)); });

const op::conv conv3x3{
    .n = 32, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};

std::vector<std::string> choices(const std::vector<execution_plan>& plans) {
  std::vector<std::string> texts;
  for (const execution_plan& plan : plans) texts.push_back(plan.choice().text());
  return texts;
}

TEST(Plans, ThatNeedMoreWorkspaceAreLeftOut) {
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::f32, layout::nhwc});
  const auto all = cudnn::proposed_plans(graph.self(), h200(), {dtype::f32, gigabyte});
  const auto none = cudnn::proposed_plans(graph.self(), h200(), {dtype::f32, 0});
  EXPECT_THAT(none, ::testing::Each(::testing::Property(&execution_plan::workspace_bytes, 0U)));
  EXPECT_LT(none.size(), all.size());
  EXPECT_FALSE(none.empty());
  EXPECT_THAT(choices(all), ::testing::IsSupersetOf(choices(none)));
}

/// What a search for a plan finds: its own and then others, as the autotuner asks for them.
std::vector<std::string> searched(const cudnn::conv_graph& graph, const plan_limits& limits,
                                  std::size_t most) {
  cudnn::tried_plans tried;
  std::vector<std::string> found{
      cudnn::first_plan(graph.self(), h200(), limits, &tried).choice().text()};
  const auto others = choices(cudnn::proposed_plans(graph.self(), h200(), limits, tried, most));
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

TEST(Plans, OfASearchAreFewAndFinalizedOnce) {
  constexpr std::size_t most = 12;  // as the autotuner asks for
  for (const dtype type : {dtype::tf32, dtype::bf16}) {
    const plan_limits limits{type, std::size_t{4} << 30U};
    std::size_t all = 0;
    double seconds = 0;
    for (const auto& [key, conv] : convolutions({"resnet50"})) {
      for (const op::pass pass : op::conv{}.passes()) {
        SCOPED_TRACE(fmt::format("{} {}", key, name(pass)));
        const cudnn::conv_graph graph(conv, {pass, type, layout::nhwc});
        plans_finalized = 0;
        const auto start = std::chrono::steady_clock::now();
        const std::vector<std::string> found = searched(graph, limits, most);
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        EXPECT_LE(plans_finalized, most);
        EXPECT_GE(plans_finalized, found.size());
        EXPECT_GT(found.size(), 3U);
        EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
        all += plans_finalized;
      }
    }
    std::cout << fmt::format("ResNet-50, {}: {} plans finalized in {:.1f} s\n", name(type), all,
                             seconds);
  }
}

TEST(Plans, ThatNeedMoreWorkspaceAreFinalizedOnce) {
  constexpr std::size_t most = 12;
  bool left_out = false;
  for (const dtype type : {dtype::f32, dtype::f16}) {
    const plan_limits limits{type, std::size_t{1} << 20U};
    for (const auto& [key, conv] : convolutions({"vgg16"})) {
      for (const op::pass pass : op::conv{}.passes()) {
        SCOPED_TRACE(fmt::format("{} {} {}", key, name(pass), name(type)));
        const cudnn::conv_graph graph(conv, {pass, type, layout::nhwc});
        plans_finalized = 0;
        const std::vector<std::string> found = searched(graph, limits, most);
        EXPECT_TRUE(plans_finalized <= most || found.size() == 1)
            << plans_finalized << ": no others where the first that fits comes late";
        EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
        left_out = left_out || plans_finalized > found.size();
      }
    }
  }
  EXPECT_TRUE(left_out) << "some need more";
}

TEST(Plans, OfASearchAreThoseThatTheHeuristicsProposeFirst) {
  const plan_limits limits{dtype::bf16, gigabyte};
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, limits.type, layout::nhwc});
  const auto all = choices(cudnn::proposed_plans(graph.self(), h200(), limits));
  ASSERT_GT(all.size(), 6U);
  EXPECT_EQ(searched(graph, limits, 6), std::vector(all.begin(), all.begin() + 6));
}

TEST(Plans, OfOneGraphDiffer) {
  for (const dtype type : {dtype::f32, dtype::tf32, dtype::bf16}) {
    const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, type, layout::nhwc});
    const auto texts = choices(cudnn::proposed_plans(graph.self(), h200(), {type, gigabyte}));
    EXPECT_GT(texts.size(), 1U);
    EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size());
  }
}

TEST(Plans, OfPostOpsExistForTensorCores) {
  op::conv conv = conv3x3;
  conv.bias = true;
  conv.post = {op::post_op::add, op::post_op::relu};
  for (const dtype type : {dtype::tf32, dtype::f16, dtype::bf16}) {
    const cudnn::conv_graph graph(conv, {op::pass::fwd, type, layout::nhwc});
    EXPECT_FALSE(cudnn::proposed_plans(graph.self(), h200(), {type, gigabyte}).empty())
        << name(type);
  }
}

TEST(Plans, OfUnevenPaddingAvoidEnginesThatAreWrong) {
  op::conv conv = conv3x3;
  conv.h = conv.w = 6;
  const auto engines = [&](op::pass pass) {
    const cudnn::conv_graph graph(conv, {pass, dtype::f32, layout::nhwc});
    std::set<std::int64_t> found;
    for (const auto& plan : cudnn::proposed_plans(graph.self(), h200(),
                                                  {dtype::f32, gigabyte, graph.wrong_engines()})) {
      found.insert(plan.choice().engine);
    }
    return found;
  };
  for (const auto& [pass, wrong] : std::map<op::pass, std::vector<std::int64_t>>{
           {op::pass::fwd, {6}}, {op::pass::bwd_data, {50}}, {op::pass::bwd_weights, {1, 20}}}) {
    SCOPED_TRACE(name(pass));
    conv.pad = {1, 1, 1, 1};
    const std::set<std::int64_t> even = engines(pass);
    conv.pad = {1, 1, 2, 0};
    const std::set<std::int64_t> uneven = engines(pass);
    EXPECT_FALSE(uneven.empty());
    for (const std::int64_t engine : wrong) {
      EXPECT_EQ(uneven.count(engine), 0U) << engine;
      if (pass == op::pass::bwd_weights) {
        EXPECT_EQ(even.count(engine), 1U) << engine;
      }
    }
  }
}

TEST(Plans, ThatDoNotExistAreUnsupported) {
  EXPECT_THROW(cudnn::conv_graph(conv3x3, {op::pass::fwd, dtype::s8, layout::nhwc}), unsupported);
  // A kernel of tf32 needs scratch memory for its sums here.
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  try {
    static_cast<void>(cudnn::first_plan(graph.self(), h200(), {dtype::tf32, 0}));
    ADD_FAILURE() << "a plan without workspace";
  } catch (const unsupported& e) {
    EXPECT_THAT(e.what(), HasSubstr("cuDNN has no plan in tf32 with up to 0 bytes"));
  }
}

TEST(ReplayedPlan, MustKeepToTheLimits) {
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  const auto plan = cudnn::first_plan(graph.self(), h200(), {dtype::tf32, gigabyte});
  EXPECT_THROW(static_cast<void>(
                   cudnn::replayed_plan(graph.self(), h200(), {dtype::f32, gigabyte}, plan.text())),
               unsupported);
  EXPECT_THROW(static_cast<void>(cudnn::replayed_plan(
                   graph.self(), h200(), {dtype::tf32, plan.workspace_bytes() - 1}, plan.text())),
               unsupported);
}

TEST(ReplayedPlan, OfAnEngineThatTheLibraryHasNotFails) {
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  EXPECT_THROW(static_cast<void>(cudnn::replayed_plan(graph.self(), h200(), {dtype::tf32, gigabyte},
                                                      "eng100000")),
               error);
}

TEST(ReplayedPlan, IsFoundByItsText) {
  using cudnn::engine_choice;
  const engine_choice with_knobs{67, {{2, 1}, {13, 0}}};
  EXPECT_EQ(engine_choice::parse(with_knobs.text()), with_knobs);
  EXPECT_EQ(engine_choice::parse("eng67_k2:1_k13:0[tensor_core][winograd]"), with_knobs);
  EXPECT_EQ(engine_choice::parse("eng0"), (engine_choice{0, {}}));
  for (const char* other : {"", "eng", "67", "eng67_k2", "eng67_k2:", "eng67_2:1", "eng67 ", "loop",
                            "eng99999999999999999999"}) {
    EXPECT_FALSE(engine_choice::parse(other)) << other;
  }
  const cudnn::conv_graph graph(conv3x3, {op::pass::fwd, dtype::tf32, layout::nhwc});
  EXPECT_THROW(static_cast<void>(
                   cudnn::replayed_plan(graph.self(), h200(), {dtype::tf32, gigabyte}, "loop")),
               unsupported);
}

}  // namespace
}  // namespace layerbench
