// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/reference/list.hpp>
#include <layerbench/run/rotation.hpp>

/// A backend that computes nothing, but remembers where its operands lay.
namespace layerbench::recorder {

struct call {
  std::string_view op;
  std::vector<address> operands;
};
inline std::vector<call> calls;
/// How many calls there were before each work on all threads.
inline std::vector<std::size_t> threads_worked;
/// Where copies went, by the number of calls before.
inline std::vector<std::pair<std::size_t, address>> copies;

struct backend : reference::backend {
  static constexpr std::string_view name = "recorder";
  using reference::backend::backend;
  static int threads_used(int offered) noexcept { return offered; }
  static std::size_t cache_bytes() { return 1U << 20U; }
  static std::size_t core_cache_bytes() { return 1U << 16U; }
  template <class Work>
  static void on_all_threads(const Work& work) {
    threads_worked.push_back(calls.size());
    work(0);
  }
  static void copy(address to, const void* from, std::size_t bytes) {
    reference::backend::copy(to, from, bytes);
    copies.emplace_back(calls.size(), to);
  }
};

}  // namespace layerbench::recorder

namespace layerbench {

template <op::operation Op>
class plan<recorder::backend, Op> : public plan<reference::backend, Op> {
 public:
  using base = plan<reference::backend, Op>;
  plan(recorder::backend& here, const Op& op, const plan_request& request)
      : base(here, op, request) {}
  [[nodiscard]] static std::vector<address> bind(std::span<const address> places, address) {
    return {places.begin(), places.end()};
  }
  static void place(std::vector<address>& bound, std::span<const address> places) {
    bound.assign(places.begin(), places.end());
  }
  static void run(const std::vector<address>& bound) {
    recorder::calls.push_back({Op::name, bound});
  }
};

namespace run {
namespace run_rotation_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

const op::conv conv{.n = 1, .c = 64, .h = 8, .w = 8, .k = 64, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};
const op::activation relu{.kind = op::activation_kind::relu, .dims = {1, 64, 8, 8}};
constexpr std::size_t tensor_bytes = 64 * 64 * 4;  // 4 pages
constexpr std::size_t weights_bytes = 64 * 64 * 9 * 4;

class Rotation : public ::testing::Test {
 protected:
  Rotation() {
    recorder::calls.clear();
    recorder::threads_worked.clear();
    recorder::copies.clear();
  }

  static std::unique_ptr<device> device_of(int threads) {
    return std::make_unique<backend_device<recorder::backend, op::conv, op::activation,
                                           op::batchnorm, op::add, op::pool>>(threads);
  }

  arena memory_{device_of(1)};
  std::unique_ptr<any_plan> plan_;

  rotation turn(const auto& op, const surrounded_op& how) {
    plan_ = memory_.here().plan(op::any(op), how.request);
    return {memory_, *plan_, how, 1};
  }

  /// Where operand `operand` of the op lay in each of so many calls.
  static std::vector<std::byte*> places(std::string_view op, std::size_t operand) {
    std::vector<std::byte*> found;
    for (const recorder::call& each : recorder::calls) {
      if (each.op == op) found.push_back(static_cast<std::byte*>(each.operands[operand]));
    }
    return found;
  }
  static void make_calls(rotation& turns, int calls) {
    for (int i = 0; i < calls; ++i) {
      turns.ready(1);
      turns.call(1);
    }
  }
};

/// What a relu or a convolution wrote so many bytes ago.
origin from_relu(std::int64_t distance) {
  return {.distance = distance, .producer = op::any(relu), .output = 1};
}
origin from_conv(std::int64_t distance) {
  return {.distance = distance, .producer = op::any(conv), .output = 2};
}

/// A convolution after a relu, in a model of that footprint.
surrounded_op after_relu(std::int64_t footprint) {
  return {.cache = cache_state::model, .footprint = footprint, .operands = {from_relu(0)}};
}

TEST_F(Rotation, HotMeansTheSameOperandsEveryCall) {
  rotation hot = turn(conv, {});
  make_calls(hot, 3);
  hot.ready(1000);
  hot.call(1000);
  EXPECT_THAT(recorder::calls, SizeIs(1003));
  for (std::size_t operand = 0; operand < 3; ++operand) {
    const auto where = places("conv", operand);
    EXPECT_EQ(std::set(where.begin(), where.end()).size(), 1U);
  }
}

TEST_F(Rotation, ASourceIsWrittenByItsProducerJustBefore) {
  rotation turns = turn(conv, after_relu(8 << 20));
  make_calls(turns, 30);
  const auto sources = places("conv", 0);
  EXPECT_EQ(sources, places("activation", 1));
  for (std::size_t i = 0; i < recorder::calls.size(); ++i) {
    EXPECT_EQ(recorder::calls[i].op, i % 2 == 0 ? "activation" : "conv");
  }
}

TEST_F(Rotation, OneCallIsMadeReadyInAModelsStateAndManyElse) {
  EXPECT_EQ(turn(conv, after_relu(8 << 20)).most_calls(), 1);
  EXPECT_EQ(turn(conv, after_relu(1000)).most_calls(), 1) << "its code is cold all the same";
  EXPECT_GT(turn(conv, {}).most_calls(), 1'000'000);
  rotation cold = turn(conv, {.cache = cache_state::cold, .operands = {from_relu(0)}});
  const std::int64_t calls = cold.most_calls();
  ASSERT_GT(calls, 1);
  cold.ready(calls);
  EXPECT_THAT(recorder::calls, SizeIs(0));
  cold.call(calls);
  EXPECT_THAT(recorder::calls, SizeIs(calls));
}

TEST_F(Rotation, WeightsComeBackAfterTheModelsFootprint) {
  // A call of the pair touches the weights, the relu's source and the convolution's two tensors.
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  constexpr int turns_to_make = 20;
  rotation turns = turn(conv, after_relu(turns_to_make * touched));
  make_calls(turns, 3 * turns_to_make);
  const auto weights = places("conv", 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = i + 1; j < weights.size(); ++j) {
      EXPECT_EQ(weights[i] == weights[j], (j - i) % turns_to_make == 0) << i << ' ' << j;
    }
  }
}

TEST_F(Rotation, WhatAWholeNumberOfWindowsLacksIsTouchedBeforeEachCall) {
  // Two and a half calls' worth: two windows, and the rest is written by halves.
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  rotation turns = turn(conv, after_relu(5 * touched / 2));
  make_calls(turns, 12);
  const auto weights = places("conv", 1);
  for (std::size_t i = 0; i + 2 < weights.size(); ++i) {
    EXPECT_EQ(weights[i], weights[i + 2]) << "so that each thread finds what it touched before";
    EXPECT_NE(weights[i], weights[i + 1]);
  }
  EXPECT_NEAR(static_cast<double>(turns.ring_bytes()), 5.0 * touched / 2, 2.0 * 4096);
  // The rest comes first: what the producer writes stays near.
  ASSERT_THAT(recorder::calls, SizeIs(12 * 3));
  EXPECT_EQ(recorder::calls[1].operands[1], recorder::calls[2].operands[0]);
  EXPECT_NE(recorder::calls[0].operands[1], recorder::calls[2].operands[0]);
}

TEST_F(Rotation, AModelThatFitsOneCallStaysInPlace) {
  rotation turns = turn(conv, after_relu(1000));
  make_calls(turns, 5);
  const auto weights = places("conv", 1);
  EXPECT_EQ(std::set(weights.begin(), weights.end()).size(), 1U);
}

TEST_F(Rotation, AnInPlaceOpWritesItsSource) {
  surrounded_op how = after_relu(8 << 20);
  how.operands = {from_conv(0), {.distance = 0, .same_as = 0}};
  rotation turns = turn(relu, how);
  make_calls(turns, 10);
  EXPECT_EQ(places("activation", 0), places("activation", 1));
  EXPECT_EQ(places("activation", 0), places("conv", 2));
}

TEST_F(Rotation, AnInPlaceProducerWritesOverWhatWasCopiedThere) {
  surrounded_op how = after_relu(8 << 20);
  how.operands.front().over = 0;
  how.operands.front().before = {1 << 20, std::nullopt};
  rotation turns = turn(conv, how);
  make_calls(turns, 10);
  const auto read = places("activation", 0);
  ASSERT_THAT(read, SizeIs(10));
  EXPECT_EQ(read, places("activation", 1));
  EXPECT_EQ(read, places("conv", 0));
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_THAT(recorder::copies, Contains(Pair(2 * i, read[i]))) << "or results would grow";
  }
}

TEST_F(Rotation, WhatAProducerReadsIsAsFreshAsInTheModel) {
  // A whole number of windows: weights, the convolution's tensors, the relu's source, its copy's.
  constexpr std::size_t touched = weights_bytes + 4 * tensor_bytes;
  surrounded_op how = after_relu(19 * touched);
  how.operands.front().before = {0, std::nullopt};
  rotation turns = turn(conv, how);
  EXPECT_EQ(turns.touched_bytes(), 2 * tensor_bytes);
  make_calls(turns, 10);
  const auto read = places("activation", 0);
  ASSERT_THAT(read, SizeIs(10));
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_THAT(recorder::copies, Contains(Pair(2 * i, read[i])));
    EXPECT_NE(read[i], places("conv", 0)[i]);
  }
  how.operands.front().before = {1 << 20, std::nullopt};
  rotation older = turn(conv, how);
  make_calls(older, 1);
  recorder::copies.clear();  // those that filled memory
  make_calls(older, 10);
  EXPECT_THAT(recorder::copies, IsEmpty()) << "no core's own cache has it any more";
}

TEST_F(Rotation, WhatElseACallNeedsIsOldInAModelThatIsLargerThanTheCoresCaches) {
  rotation large = turn(conv, after_relu(8 << 20));
  large.ready(1);
  EXPECT_THAT(recorder::threads_worked, ElementsAre(0, 1)) << "before its source is written, after";
  recorder::calls.clear();
  recorder::threads_worked.clear();
  rotation small = turn(conv, after_relu(4 << 16));
  small.ready(1);
  EXPECT_THAT(recorder::threads_worked, ElementsAre(Ge(1U))) << "other code alone";
  EXPECT_GT(large.displaced_bytes(), 0U);
  EXPECT_EQ(small.displaced_bytes(), 0U);
}

TEST_F(Rotation, AProducerReadsWhatNobodyWrites) {
  surrounded_op how = after_relu(8 << 20);
  rotation turns = turn(conv, how);
  make_calls(turns, 200);
  const auto written = places("conv", 2);
  for (const std::byte* read : places("activation", 0)) {
    for (const std::byte* each : written)
      EXPECT_GE(std::abs(read - each), std::ptrdiff_t{tensor_bytes});
  }
}

TEST_F(Rotation, ASourceOfLongAgoIsWrittenSoManyCallsBefore) {
  const op::add add{{1, 64, 8, 8}};
  surrounded_op how{.cache = cache_state::model,
                    .footprint = 64 << 20,
                    .operands = {from_conv(0), from_relu(1 << 20)}};
  rotation turns = turn(add, how);
  make_calls(turns, 60);
  const auto residual = places("add", 1);
  EXPECT_EQ(places("add", 0), places("conv", 2));
  // No core's own cache has it any more: a copy will do, and that of call i is for call i + lead.
  std::vector<address> copied;
  for (const auto& [calls_before, to] : recorder::copies) {
    if (std::ranges::find(residual, to) != residual.end()) copied.push_back(to);
  }
  const auto leads = [&](std::size_t lead) {
    return std::equal(residual.begin() + static_cast<std::ptrdiff_t>(lead), residual.end(),
                      copied.begin());
  };
  std::size_t lead = 0;
  while (lead < residual.size() && !leads(lead)) ++lead;
  const std::size_t touched = 3 * tensor_bytes + tensor_bytes + weights_bytes + tensor_bytes;
  EXPECT_NEAR(static_cast<double>(lead), (1 << 20) / static_cast<double>(touched), 0.51);
  // Before a visit those of the calls before, which it does not make, are written, too.
  recorder::copies.clear();
  turns.settle();
  EXPECT_THAT(recorder::copies, SizeIs(lead));
  const auto next = recorder::copies;
  make_calls(turns, static_cast<int>(lead));
  const auto read = places("add", 1);
  for (std::size_t i = 0; i < lead; ++i) EXPECT_EQ(next[i].second, read[60 + i]);
}

TEST_F(Rotation, WeightsThatTheStepReadBeforeAreTouchedAgain) {
  surrounded_op how = after_relu(8 << 20);
  how.operands.push_back({.distance = 0});
  rotation turns = turn(conv, how);
  EXPECT_GE(turns.touched_bytes(), tensor_bytes + weights_bytes);
  how.operands.back() = {};
  EXPECT_LT(turn(conv, how).touched_bytes(), weights_bytes);
}

TEST_F(Rotation, AProducerOfSeveralResultsWritesTheOneThatIsRead) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  const op::any producer(norm);
  constexpr std::size_t dst = 5;
  constexpr std::size_t mean = 6;
  surrounded_op how{
      .cache = cache_state::model,
      .footprint = 8 << 20,
      .operands = {
          {.distance = 0, .producer = producer, .pass = op::pass::fwd_training, .output = dst}}};
  rotation turns = turn(conv, how);
  make_calls(turns, 10);
  EXPECT_EQ(places("batchnorm", dst), places("conv", 0));
  const auto beside = places("batchnorm", mean);
  const auto read = places("conv", 0);
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_NE(beside[i], read[i]);
}

TEST_F(Rotation, ColdTouchesMoreThanAllCachesHold) {
  rotation cold = turn(conv, {.cache = cache_state::cold, .operands = {from_relu(0)}});
  EXPECT_GE(cold.ring_bytes(), 4U * recorder::backend::cache_bytes() - weights_bytes);
  EXPECT_EQ(cold.touched_bytes(), 0U);
  make_calls(cold, 10);
  EXPECT_THAT(places("activation", 0), SizeIs(0));
  const auto sources = places("conv", 0);
  EXPECT_EQ(std::set(sources.begin(), sources.end()).size(), 10U);
}

TEST_F(Rotation, BeyondTheCachesALargerFootprintChangesNothing) {
  const std::size_t large = turn(conv, after_relu(std::int64_t{1} << 34U)).ring_bytes();
  const std::size_t larger = turn(conv, after_relu(std::int64_t{1} << 40U)).ring_bytes();
  EXPECT_EQ(large, larger);
  EXPECT_LE(large, 4U * recorder::backend::cache_bytes() + 64U * 4096);  // in whole pages
}

TEST_F(Rotation, StatisticsOfProducersAreValid) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  constexpr std::size_t dst = 5;
  constexpr std::size_t variance = 4;
  surrounded_op how{.cache = cache_state::model,
                    .footprint = 4 << 20,
                    .operands = {{.distance = 0, .producer = op::any(norm), .output = dst}}};
  rotation turns = turn(relu, how);
  make_calls(turns, 40);
  const auto places_of_it = places("batchnorm", variance);
  ASSERT_THAT(places_of_it, SizeIs(40));
  for (const std::byte* each : places_of_it) {
    const auto* values = reinterpret_cast<const float*>(each);
    EXPECT_THAT(std::vector<float>(values, values + norm.c), Each(Ge(0.25F)));
  }
}

TEST_F(Rotation, PositionsInWindowsAreValid) {
  const op::pool pool{.n = 1, .c = 64, .h = 8, .w = 8, .r = 2, .s = 2, .stride = {2, 2}};
  surrounded_op how{.request = {.pass = op::pass::bwd},
                    .cache = cache_state::model,
                    .footprint = 4 << 20,
                    .operands = {{}, {.distance = 0, .producer = op::any(relu), .output = 1}}};
  rotation turns = turn(pool, how);
  make_calls(turns, 40);
  constexpr std::size_t workspace = 1;
  for (const std::byte* each : places("pool", workspace)) {
    const auto* taps = reinterpret_cast<const float*>(each);  // as the reference has all numbers
    EXPECT_THAT(std::vector<float>(taps, taps + 64 * 4 * 4), Each(AllOf(Ge(0), Le(3))));
  }
}

TEST_F(Rotation, OfWhatAProducerWritesBesideItsResultACopyIsEnough) {
  const op::any norm(op::batchnorm{.n = 1, .c = 64, .h = 8, .w = 8});
  constexpr std::size_t mean = 6;
  surrounded_op how{.request = {.pass = op::pass::bwd},
                    .cache = cache_state::model,
                    .footprint = 4 << 20,
                    .operands = {{}, {}, {}}};
  how.operands.push_back(
      {.distance = 0, .producer = norm, .pass = op::pass::fwd_training, .output = mean});
  rotation turns = turn(op::batchnorm{.n = 1, .c = 64, .h = 8, .w = 8}, how);
  make_calls(turns, 10);
  EXPECT_THAT(recorder::calls, Each(::testing::Field(&recorder::call::operands, SizeIs(8))))
      << "all are gradients";
}

TEST_F(Rotation, SettlingReadsTheRingsInModelsThatTheLastCacheKeepsAPartOf) {
  const auto reads_of = [&](std::int64_t footprint) {
    rotation turns = turn(conv, after_relu(footprint));
    recorder::threads_worked.clear();
    turns.settle();
    return recorder::threads_worked.size();
  };
  EXPECT_EQ(reads_of(2 << 20), 1U);
  EXPECT_EQ(reads_of(4 << 16), 0U) << "the cores' own caches keep it";
  EXPECT_EQ(reads_of(64 << 20), 0U) << "nothing keeps it";
  rotation turns = turn(conv, after_relu(64 << 20));
  recorder::threads_worked.clear();
  constexpr bool warm_up_follows = false;
  turns.settle(warm_up_follows);
  EXPECT_THAT(recorder::threads_worked, SizeIs(1)) << "but nothing else comes before the call";
}

/// A convolution whose result a relu read in the step before, so many bytes ago.
/// The model takes a whole number of windows, of which each has the relu's result, too.
surrounded_op read_before(std::int64_t distance) {
  constexpr std::int64_t footprint = 5 * (weights_bytes + 3 * tensor_bytes);
  surrounded_op how{.cache = cache_state::model, .footprint = footprint, .operands = {{}, {}, {}}};
  how.operands[2].used = {op::any(relu), op::pass::fwd, {0}, /*writes=*/false, distance};
  return how;
}

TEST_F(Rotation, WhatSeveralThreadsWriteIsReadBeforeByWhoReadItInTheModel) {
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  for (const std::size_t lead : {1U, 3U}) {
    recorder::calls.clear();
    arena shared(device_of(2));
    plan_ = shared.here().plan(op::any(conv), {});
    rotation turns(shared, *plan_, read_before(static_cast<std::int64_t>(lead * touched)), 1);
    make_calls(turns, 20);
    const auto read = places("activation", 0);
    const auto written = places("conv", 2);
    ASSERT_GE(read.size(), written.size());
    for (std::size_t i = lead; i < written.size(); ++i) EXPECT_EQ(written[i], read[i - lead]);
  }
  rotation alone = turn(conv, read_before(3 * touched));
  recorder::calls.clear();
  make_calls(alone, 20);
  const auto written = places("conv", 2);
  EXPECT_THAT(places("activation", 0), Each(Not(::testing::AnyOfArray(written))))
      << "one thread has nobody to tell";
}

TEST_F(Rotation, WeightsThatTheStepUpdatesAreWrittenBefore) {
  surrounded_op how = read_before(0);
  how.footprint = 5 * (weights_bytes + 2 * tensor_bytes);
  how.operands[2].used.reset();
  how.operands[1].used = {op::any(relu), op::pass::fwd, {0, 1}, /*writes=*/true, 300'000};
  arena shared(device_of(2));
  plan_ = shared.here().plan(op::any(conv), {});
  rotation turns(shared, *plan_, how, 1);
  make_calls(turns, 20);
  const auto used = places("conv", 1);
  EXPECT_EQ(places("activation", 0), places("activation", 1));
  for (const std::byte* each : places("activation", 1)) EXPECT_THAT(used, Contains(each));
}

TEST_F(Rotation, ATurnOfTheRingsTakesAsLongAsAStepWhereOthersEvictInTheMeantime) {
  constexpr double step = 0.02;  // seconds
  rotation turns = turn(conv, after_relu(2 << 20));
  turns.set_step_seconds(step);
  turns.settle();
  make_calls(turns, 20);
  EXPECT_GE(turns.turn_seconds(), 0.99 * step);
  turns.set_step_seconds(1e6);
  turns.settle();
  make_calls(turns, 20);
  EXPECT_GE(turns.turn_seconds(), step);
  EXPECT_LT(turns.turn_seconds(), 1e5) << "by then all of it is evicted";
  rotation large = turn(conv, after_relu(3 << 20));
  large.set_step_seconds(1e6);
  large.settle();
  make_calls(large, 20);
  EXPECT_LT(large.turn_seconds(), 1e5) << "nothing stays in a cache anyway";
}

TEST_F(Rotation, OfASourceManyTimesTheCoresCachesACopyIsEnough) {
  const dims large{1, 64, 64, 64};
  op::conv reads = conv;
  reads.h = reads.w = 64;
  const origin written{.distance = 0,
                       .producer = op::any(op::activation{op::activation_kind::relu, large}),
                       .output = 1};
  rotation turns =
      turn(reads, {.cache = cache_state::model, .footprint = 64 << 20, .operands = {written}});
  make_calls(turns, 3);
  const auto sources = places("conv", 0);
  ASSERT_THAT(sources, SizeIs(3));
  for (std::byte* each : sources) {
    EXPECT_THAT(places("activation", 1), ::testing::Not(Contains(each)));
    EXPECT_THAT(recorder::copies, Contains(Pair(::testing::_, each)));
  }
}

TEST_F(Rotation, StatisticsThatAreUpdatedInPlaceAreValid) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  constexpr std::size_t variance = 4;
  surrounded_op how{.request = {.pass = op::pass::fwd_training},
                    .cache = cache_state::model,
                    .footprint = 4 << 20,
                    .operands = {10, origin{}}};
  how.operands[8].same_as = 3;
  how.operands[9].same_as = variance;
  rotation turns = turn(norm, how);
  make_calls(turns, 1);
  const auto* values = reinterpret_cast<const float*>(places("batchnorm", variance).front());
  EXPECT_EQ(places("batchnorm", variance), places("batchnorm", 9));
  EXPECT_THAT(std::vector<float>(values, values + norm.c), Each(Ge(0.25F)));
}

TEST_F(Rotation, StatisticsAreValidInEveryCopy) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  rotation turns =
      turn(norm, {.cache = cache_state::model, .footprint = 4 << 20, .operands = {from_conv(0)}});
  make_calls(turns, 40);
  const auto operands = norm.operands(op::pass::fwd, dtype::f32);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != op::role::statistics && operands[i].role != op::role::weights) continue;
    const auto where = places("batchnorm", i);
    EXPECT_GT(std::set(where.begin(), where.end()).size(), 10U);
    for (const std::byte* each : where) {
      const auto* values = reinterpret_cast<const float*>(each);
      const std::vector<float> all(values, values + 64);
      EXPECT_THAT(all, Each(::testing::AllOf(Ge(operands[i].low), Le(operands[i].high))));
    }
  }
}

}  // namespace run_rotation_test
}  // namespace run
}  // namespace layerbench
