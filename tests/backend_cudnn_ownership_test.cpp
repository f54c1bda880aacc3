// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/cublas/backend.hpp>
#include <layerbench/backend/cudnn/all_plans.hpp>
#include <layerbench/op/op.hpp>

#include "support/counting_kernels.hpp"
#include "support/counting_libraries.hpp"
#include "support/h200.hpp"

/// Who owns what, and what happens when a call fails: on stand-ins for the libraries.
namespace layerbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs `work` on the stand-ins; what it throws.
std::string complaint(const std::function<void()>& work, int failing_call = 0,
                      cudnnStatus_t failure = CUDNN_STATUS_INTERNAL_ERROR) {
  fake = libraries{};
  fake.failing_call = failing_call;
  fake.failure = failure;
  try {
    work();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

/// Whatever was made is gone, and nothing was destroyed twice or used afterwards.
void expect_balance() {
  EXPECT_EQ(fake.live.size(), 0U) << fake.failed;
  EXPECT_EQ(fake.misused, 0) << fake.failed;
}

/// Lets each of the calls fail in turn. Every failure must be said, with its function.
void expect_balance_whatever_fails(const std::function<void()>& work) {
  EXPECT_EQ(complaint(work), "");
  expect_balance();
  EXPECT_GT(fake.result, 0);
  const int calls = fake.calls;
  for (int failing = 1; failing <= calls; ++failing) {
    const std::string words = complaint(work, failing);
    EXPECT_THAT(words,
                AllOf(HasSubstr(fake.failed), ::testing::ContainsRegex("_OF_TEST|OfTheTest")));
    EXPECT_FALSE(fake.failed.empty());
    expect_balance();
  }
}

const op::conv a_conv{.n = 2, .c = 4, .h = 8, .w = 8, .k = 4, .r = 3, .s = 3, .bias = true};
const plan_request request{op::pass::fwd, dtype::f32, layout::nhwc};
constexpr cudnn::plan_limits limits{dtype::f32, 7};

/// All that is done to choose a plan.
void choose() {
  const cudnn::descriptor gpu = testing::gpu_described_by("{}");
  const cudnn::conv_graph graph(a_conv, request);
  const auto plans = cudnn::proposed_plans(graph.self(), gpu, limits);
  EXPECT_EQ(plans.size(), 1U);  // both proposals are the same
  static_cast<void>(cudnn::first_plan(graph.self(), gpu, limits));
  static_cast<void>(cudnn::replayed_plan(graph.self(), gpu, limits, plans.at(0).text()));
}

TEST(Ownership, OfDescriptorsHoldsWhateverFails) { expect_balance_whatever_fails(choose); }

TEST(Ownership, OfTheBackendsHoldsWhateverFails) {
  expect_balance_whatever_fails([] { cudnn::backend device(1); });
  expect_balance_whatever_fails([] { const cublas::backend device(1); });
}

/// Makes a plan, ties it to memory, and calls it in two places.
template <class Op>
void exercise(const Op& op, op::pass pass, dtype type = dtype::f32) {
  cudnn::backend device(1);
  run::plan_of<cudnn::backend, Op> result(device, op, {pass, type, layout::nhwc});
  EXPECT_FALSE(result.algorithm().empty());
  const std::vector<run::alternative> others = result.alternatives(9);
  for (const run::alternative& other : others) {  // both proposals are the same
    EXPECT_EQ(other.algorithm, result.algorithm());
  }
  plan_request again{pass, type, layout::nhwc};
  again.algorithm = result.algorithm();
  EXPECT_EQ((run::plan_of<cudnn::backend, Op>(device, op, again).algorithm()), result.algorithm());
  std::vector<cuda::buffer> memory;
  std::vector<address> places;
  for (const plan_operand& operand : result.operands()) {
    places.push_back(memory.emplace_back(operand.bytes).data());
  }
  const cuda::buffer workspace(result.workspace_bytes());
  auto bound = result.bind(places, workspace.data());
  result.place(bound, places);
  const int before = fake.result;
  result.run(bound);
  EXPECT_EQ(fake.result, before) << "made by a call";
}

const op::attention grouped{
    .n = 2, .heads = 4, .q = 3, .k = 5, .d = 8, .kv_heads = 2, .causal = true};
const op::batchnorm normal{.n = 2, .c = 4, .h = 8, .w = 8, .epsilon = 0.25};

/// The first kernel compiles all, for all that follow in this process.
void compile_kernels() {
  EXPECT_EQ(complaint([] { exercise(op::reorder{{2, 3}, "ab", "ba"}, op::pass::fwd); }), "");
}

TEST(Ownership, OfPlansHoldsWhateverFails) {
  using enum op::pass;
  compile_kernels();
  for (const op::pass pass : {fwd, bwd_data, bwd_weights}) {
    expect_balance_whatever_fails([pass] { exercise(a_conv, pass); });
  }
  const dims image{2, 4, 8, 8};
  for (const op::pass pass : {fwd, bwd}) {
    expect_balance_whatever_fails(
        [&] { exercise(op::activation{op::activation_kind::relu, image}, pass); });
    expect_balance_whatever_fails([&] { exercise(op::softmax{image}, pass); });
    expect_balance_whatever_fails([&] {
      exercise(
          op::pool{.kind = op::pool_kind::average, .n = 2, .c = 4, .h = 8, .w = 8, .r = 2, .s = 2},
          pass);
    });
  }
  expect_balance_whatever_fails([&] { exercise(op::add{image}, fwd); });
  for (const op::pass pass : {fwd, fwd_training, bwd}) {
    expect_balance_whatever_fails([&] { exercise(normal, pass); });
    expect_balance_whatever_fails(
        [&] { exercise(op::layernorm{.dims = {2, 4}, .scale = false}, pass); });
    expect_balance_whatever_fails([&] { exercise(grouped, pass, dtype::bf16); });
  }
}

TEST(Ownership, OfKernelsHoldsWhateverFails) {
  using enum op::pass;
  const auto reorder = [] { exercise(op::reorder{{2, 3}, "ab", "ba"}, fwd); };
  compile_kernels();
  for (const auto rule : {op::update_rule::adam, op::update_rule::zero}) {
    expect_balance_whatever_fails(
        [&] { exercise(op::update{.rule = rule, .sizes = {2, 70}}, fwd); });
  }
  for (const op::pass pass : {fwd, bwd}) {
    expect_balance_whatever_fails([&] { exercise(op::cross_entropy{2, 3}, pass); });
  }
  for (const op::pass pass : {fwd_training, bwd}) {
    expect_balance_whatever_fails([&] { exercise(op::dropout{.dims = {2, 3}}, pass); });
    expect_balance_whatever_fails([&] { exercise(op::pool{.h = 2, .r = 2}, pass); });
  }
  expect_balance_whatever_fails(reorder);
}

TEST(Ownership, OfProgramsHoldsWhateverFails) {
  for (const int capability : {90, 91}) {  // machine code, and PTX
    expect_balance_whatever_fails(
        [&] { EXPECT_EQ(cuda::compiled("", capability), code_of_the_test); });
  }
}

TEST(Failure, OfACompilationSaysWhatTheCompilerDoes) {
  source_is_wrong = true;
  EXPECT_EQ(complaint([] { static_cast<void>(cuda::compiled("", 91)); }),
            "NVRTC: nvrtcCompileProgram -arch=compute_90 failed: NVRTC_ERROR_OF_TEST (6): code");
  source_is_wrong = false;
  expect_balance();
}

TEST(Operands, LieInMemoryInTheOrderAskedFor) {
  const dims image{1, 2, 1, 3};
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  for (const auto& [order, text, stored] :
       {std::tuple{layout::nchw, "abcd", std::vector<float>{0, 1, 2, 3, 4, 5}},
        std::tuple{layout::nhwc, "acdb", std::vector<float>{0, 3, 1, 4, 2, 5}},
        std::tuple{layout::any, "acdb", std::vector<float>{0, 3, 1, 4, 2, 5}}}) {
    fake = libraries{};
    cudnn::backend device(1);
    const run::plan_of<cudnn::backend, op::add> result(device, op::add{image},
                                                       {op::pass::fwd, dtype::f32, order});
    std::vector<float> memory(6);
    result.upload(0, values, memory.data());
    EXPECT_EQ(memory, stored) << name(order);
    std::vector<float> back(6);
    result.download(0, memory.data(), back);
    EXPECT_EQ(back, values) << name(order);
    EXPECT_EQ(result.operands()[0].order, op::canonical_order(image, text));
    EXPECT_EQ(result.operands()[0].bytes, 24U);
  }
}

/// The variance, operand number `variance` of a normalization whose epsilon is 0.25, is an inverse
/// deviation in memory. The operand before it is stored as it is.
template <class Op>
void expect_inverse_deviation(const Op& op, op::pass pass, std::size_t variance) {
  fake = libraries{};
  cudnn::backend device(1);
  const std::vector<float> variances{0.75, 3.75, 0, 15.75};
  const std::vector<float> inverses{1, 0.5, 2, 0.25};
  run::plan_of<cudnn::backend, Op> result(device, op, {pass, dtype::f32});
  EXPECT_EQ(result.operands()[variance].logical.name, "variance");
  std::vector<float> memory(4);
  result.upload(variance, variances, memory.data());
  EXPECT_EQ(memory, inverses);
  std::vector<float> back(4);
  result.download(variance, memory.data(), back);
  EXPECT_EQ(back, variances);
  result.upload(variance - 1, variances, memory.data());
  EXPECT_EQ(memory, variances);
}

TEST(Operands, ThatNormalizationsPassOnLieAsTheLibraryWantsThem) {
  expect_inverse_deviation(normal, op::pass::fwd_training, 7);
  expect_inverse_deviation(normal, op::pass::bwd, 4);
  const op::layernorm rows{.dims = {4, 4}, .epsilon = 0.25};
  expect_inverse_deviation(rows, op::pass::fwd_training, 5);
  expect_inverse_deviation(rows, op::pass::bwd, 4);
}

TEST(Operands, ThatBatchNormUpdatesAreTakenOverFirst) {
  fake = libraries{};
  cudnn::backend device(1);
  const run::plan_of<cudnn::backend, op::batchnorm> result(device, normal,
                                                           {op::pass::fwd_training, dtype::f32});
  std::vector<std::vector<float>> memory;
  std::vector<address> places;
  for (const plan_operand& operand : result.operands()) {
    memory.emplace_back(operand.bytes / sizeof(float), static_cast<float>(memory.size()));
    places.push_back(memory.back().data());
  }
  result.run(result.bind(places, nullptr));
  EXPECT_EQ(memory[8], memory[3]);
  EXPECT_EQ(memory[9], memory[4]);
}

TEST(Ownership, OfMemoryStreamsAndEventsHoldsWhateverFails) {
  expect_balance_whatever_fails([] {
    const cuda::buffer first(100);
    const cuda::stream stream = cuda::make_stream();
    const cuda::event event = cuda::make_event();
    cuda::buffer second(100);
    const cuda::buffer third = std::move(second);
    second = cuda::buffer(200);
    EXPECT_NE(third.data(), nullptr);
    EXPECT_NE(second.data(), third.data());
  });
}

TEST(Ownership, OfRecordedGraphsHoldsWhateverFails) {
  const auto recorded = [] {
    cudnn::backend device(1);
    float value = 0;
    device.record([&] { device.copy(&value, &value, sizeof value); })->launch();
    device.record([] {})->launch();
  };
  ASSERT_EQ(complaint(recorded), "");  // compiles what copies, for all that follow in this process
  expect_balance_whatever_fails(recorded);
}

TEST(Ownership, OfNoMemoryIsNothing) {
  EXPECT_EQ(complaint([] { EXPECT_EQ(cuda::buffer(0).data(), nullptr); }), "");
  EXPECT_EQ(fake.calls, 0);
}

TEST(Failure, SaysLibraryCallStatusAndWhatTheLibrarySaysMore) {
  EXPECT_EQ(complaint([] { const cudnn::descriptor created(CUDNN_BACKEND_TENSOR_DESCRIPTOR); }, 1),
            "cuDNN: cudnnBackendCreateDescriptor of type 17 failed: CUDNN_STATUS_OF_TEST (4000): "
            "more of it");
  EXPECT_EQ(complaint([] { const cuda::buffer result(100); }, 1),
            "CUDA: cudaMalloc of 100 bytes failed: cudaErrorOfTheTest (2): as the test wants it");
}

TEST(Failure, ThatTheLibraryHasNoSuchPlanIsUnsupported) {
  const auto graph = [] { const cudnn::conv_graph result(a_conv, request); };
  EXPECT_EQ(complaint(graph), "");
  const int calls = fake.calls;
  fake = libraries{};
  fake.failing_call = calls;
  fake.failure = CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  EXPECT_THROW(graph(), unsupported);
  expect_balance();
}

TEST(Plans, ShareTheLimitOfScratchMemoryWithTheirGraph) {
  const auto limited = [](std::size_t bytes) {
    cudnn::backend device(1);
    const plan_request backward{op::pass::bwd, dtype::bf16, layout::nhwc, bytes};
    const run::plan_of<cudnn::backend, op::attention> result(device, grouped, backward);
    EXPECT_EQ(result.workspace_bytes(), bytes);
  };
  // 2*4*3 means and 2*4*3*8 sums of gradients in f32; the execution plan has 7 bytes.
  const std::size_t least = 256 + 768 + 7;
  EXPECT_EQ(complaint([&] { limited(least); }), "");
  EXPECT_THAT(complaint([&] { limited(least - 1); }), HasSubstr("up to 6 bytes of workspace"));
  EXPECT_THAT(complaint([&] { limited(least - 8); }), HasSubstr("needs 1024 bytes of scratch"));
}

TEST(Plans, ThatTheLibraryCannotMakeAreLeftOut) {
  // The last call but one of each proposal makes its plan final.
  const auto first = [] {
    static_cast<void>(cudnn::first_plan(cudnn::descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
                                        cudnn::descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR),
                                        limits));
  };
  EXPECT_EQ(complaint(first), "");
  const int final_call = fake.calls - 1;
  EXPECT_THAT(complaint(first, final_call, CUDNN_STATUS_NOT_SUPPORTED),
              HasSubstr("cuDNN has no plan in f32 with up to 7 bytes of workspace"));
  EXPECT_EQ(fake.failed, "cudnnBackendFinalize");
  expect_balance();
  EXPECT_THAT(complaint(first, final_call, CUDNN_STATUS_EXECUTION_FAILED),
              HasSubstr("cudnnBackendFinalize failed"));
}

}  // namespace
}  // namespace layerbench
