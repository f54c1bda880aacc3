// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include "support/recorder.hpp"

namespace layerbench::run {
namespace cache_state_operand_ring_test {

using namespace recorded;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::SizeIs;

TEST_F(OperandRing, HotMeansTheSameOperandsEveryCall) {
  operand_ring hot = turn(conv, {});
  make_calls(hot, 3);
  hot.set_up(1000);
  hot.call(1000);
  EXPECT_THAT(recorder::calls, SizeIs(1003));
  for (std::size_t operand = 0; operand < 3; ++operand) {
    const auto where = places("conv", operand);
    EXPECT_EQ(std::set(where.begin(), where.end()).size(), 1U);
  }
}

TEST_F(OperandRing, ACallThatIsLeftOutMovesItOn) {
  operand_ring all = turn(conv, after_relu(8 << 20));
  make_calls(all, 9);
  const auto sources = places("activation", 1);
  recorder::calls.clear();
  operand_ring some = turn(conv, after_relu(8 << 20));
  for (int i = 0; i < 9; ++i) {
    some.set_up(1);
    some.skip(1);
  }
  const auto left = places("activation", 1);
  ASSERT_EQ(left.size(), sources.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i] - left.front(), sources[i] - sources.front());
  }
  EXPECT_THAT(places("conv", 0), SizeIs(0));
}

TEST_F(OperandRing, ASourceIsWrittenByItsProducerJustBefore) {
  operand_ring turns = turn(conv, after_relu(8 << 20));
  make_calls(turns, 30);
  const auto sources = places("conv", 0);
  EXPECT_EQ(sources, places("activation", 1));
  for (std::size_t i = 0; i < recorder::calls.size(); ++i) {
    EXPECT_EQ(recorder::calls[i].op, i % 2 == 0 ? "activation" : "conv");
  }
}

TEST_F(OperandRing, ASourceThatAnotherCallReadIsReadByThatCallAgain) {
  const op::pool pool{.n = 1, .c = 64, .h = 8, .w = 8, .r = 2, .s = 2, .stride = {2, 2}};
  op_in_context context = after_relu(8 << 20);
  context.operands[0].uses = {
      {0, op::any(pool), op::pass::fwd, {0}, /*writes=*/false, SIZE_MAX, 0}};
  operand_ring turns = turn(conv, context);
  make_calls(turns, 30);
  EXPECT_EQ(places("conv", 0), places("pool", 0));
  EXPECT_NE(places("conv", 0), places("activation", 1)) << "its producer was followed by a reader";

  recorder::calls.clear();
  context.operands[0].uses.front().writes = true;
  operand_ring written = turn(conv, context);
  make_calls(written, 3);
  EXPECT_EQ(places("conv", 0), places("activation", 1)) << "the last user is the producer";
}

TEST_F(OperandRing, OneCallIsMadeReadyInAModelsStateAndManyElse) {
  EXPECT_EQ(turn(conv, after_relu(8 << 20)).most_calls(), 1);
  EXPECT_EQ(turn(conv, after_relu(1000)).most_calls(), 1) << "its code is cold all the same";
  EXPECT_GT(turn(conv, {}).most_calls(), 1'000'000);
  operand_ring cold = turn(conv, {.cache = cache_state::cold, .operands = {from_relu(0)}});
  const std::int64_t calls = cold.most_calls();
  ASSERT_GT(calls, 1);
  cold.set_up(calls);
  EXPECT_THAT(recorder::calls, SizeIs(0));
  cold.call(calls);
  EXPECT_THAT(recorder::calls, SizeIs(calls));
}

TEST_F(OperandRing, WeightsComeBackAfterTheModelsFootprint) {
  // A call of the pair touches the weights, the relu's source and the convolution's two tensors.
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  constexpr int turns_to_make = 20;
  operand_ring turns = turn(conv, after_relu(turns_to_make * touched));
  make_calls(turns, 3 * turns_to_make);
  const auto weights = places("conv", 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = i + 1; j < weights.size(); ++j) {
      EXPECT_EQ(weights[i] == weights[j], (j - i) % turns_to_make == 0) << i << ' ' << j;
    }
  }
}

TEST_F(OperandRing, WhatAWholeNumberOfWindowsLacksIsTouchedBeforeEachCall) {
  // Two and a half calls' worth: two windows, and the rest is written by halves.
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  operand_ring turns = turn(conv, after_relu(5 * touched / 2));
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

TEST_F(OperandRing, ActivationsComeBackSoonerWhereTheyShareMemory) {
  // The relu's result and the convolution's are written: two such pairs are all the memory.
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  op_in_context how = after_relu(20 * touched);
  how.shared_bytes = 4 * tensor_bytes;
  operand_ring turns = turn(conv, how);
  make_calls(turns, 40);
  const auto weights = places("conv", 1);
  const auto written = places("conv", 2);
  for (std::size_t i = 0; i + 20 < weights.size(); ++i) {
    EXPECT_EQ(written[i], written[i + 2]);
    EXPECT_NE(written[i], written[i + 1]);
    EXPECT_NE(weights[i], weights[i + 2]);
    EXPECT_EQ(weights[i], weights[i + 20]);
  }
  // The weights of a whole step still lie between two uses of the same ones.
  EXPECT_NEAR(static_cast<double>(turns.ring_bytes()), 20.0 * touched, 20.0 * 2 * 4096);
}

TEST_F(OperandRing, ActivationsComeBackAsSoonAsTheModelUsesTheirMemory) {
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  const op::pool pool{.n = 1, .c = 64, .h = 8, .w = 8, .r = 2, .s = 2, .stride = {2, 2}};
  const auto slots_with = [&](std::int64_t distance) {
    op_in_context how = after_relu(20 * touched);
    how.shared_bytes = 20 * tensor_bytes;
    how.operands.resize(3);
    how.operands[2].uses = {
        {0, op::any(pool), op::pass::fwd, {0}, /*writes=*/false, SIZE_MAX, distance}};
    operand_ring turns = turn(conv, how);
    recorder::calls.clear();
    make_calls(turns, 30);
    const auto written = places("conv", 2);
    EXPECT_GE(turns.slots(), 10) << "of weights";
    return std::set(written.begin(), written.end()).size();
  };
  EXPECT_EQ(slots_with(touched / 2), 1U);
  EXPECT_EQ(slots_with(3 * touched / 2), 2U);
  EXPECT_EQ(slots_with(19 * touched), 10U) << "no more than the memory has";
}

TEST_F(OperandRing, AModelThatFitsOneCallStaysInPlace) {
  operand_ring turns = turn(conv, after_relu(1000));
  make_calls(turns, 5);
  const auto weights = places("conv", 1);
  EXPECT_EQ(std::set(weights.begin(), weights.end()).size(), 1U);
}

TEST_F(OperandRing, WhatElseACallNeedsIsOldInAModelThatIsLargerThanTheCoresCaches) {
  operand_ring large = turn(conv, after_relu(8 << 20));
  large.set_up(1);
  EXPECT_THAT(recorder::threads_worked, ElementsAre(0, 1)) << "before its source is written, after";
  recorder::calls.clear();
  recorder::threads_worked.clear();
  operand_ring small = turn(conv, after_relu(4 << 16));
  small.set_up(1);
  EXPECT_THAT(recorder::threads_worked, ElementsAre(Ge(1U))) << "other code alone";
  EXPECT_GT(large.evicted_bytes(), 0U);
  EXPECT_EQ(small.evicted_bytes(), 0U);
}

TEST_F(OperandRing, ColdTouchesMoreThanAllCachesHold) {
  operand_ring cold = turn(conv, {.cache = cache_state::cold, .operands = {from_relu(0)}});
  EXPECT_GE(cold.ring_bytes(), 4U * recorder::backend::cache_bytes - weights_bytes);
  EXPECT_EQ(cold.setup_bytes(), 0U);
  make_calls(cold, 10);
  EXPECT_THAT(places("activation", 0), SizeIs(0));
  const auto sources = places("conv", 0);
  EXPECT_EQ(std::set(sources.begin(), sources.end()).size(), 10U);
}

TEST_F(OperandRing, BeyondTheCachesALargerFootprintChangesNothing) {
  const std::size_t large = turn(conv, after_relu(std::int64_t{1} << 34U)).ring_bytes();
  const std::size_t larger = turn(conv, after_relu(std::int64_t{1} << 40U)).ring_bytes();
  EXPECT_EQ(large, larger);
  EXPECT_LE(large, 4U * recorder::backend::cache_bytes + 64U * 4096);  // in whole pages
}

TEST_F(OperandRing, SettlingReadsTheRingsInModelsThatTheLastCacheKeepsAPartOf) {
  const auto reads_of = [&](std::int64_t footprint) {
    operand_ring turns = turn(conv, after_relu(footprint));
    recorder::threads_worked.clear();
    turns.warm_shared_cache();
    return recorder::threads_worked.size();
  };
  EXPECT_EQ(reads_of(2 << 20), 1U);
  EXPECT_EQ(reads_of(4 << 16), 0U) << "the cores' own caches keep it";
  EXPECT_EQ(reads_of(64 << 20), 0U) << "nothing keeps it";
  operand_ring turns = turn(conv, after_relu(64 << 20));
  recorder::threads_worked.clear();
  constexpr bool warm_up_follows = false;
  turns.warm_shared_cache(warm_up_follows);
  EXPECT_THAT(recorder::threads_worked, SizeIs(1)) << "but nothing else comes before the call";
}

TEST_F(OperandRing, ResultsAreReadOnceAfterACallWhereTheLlcMayKeepThem) {
  const auto set_up = [](operand_ring& turns) {
    recorder::threads_worked.clear();
    turns.set_up(1);
    return recorder::threads_worked.size();
  };
  const auto reads_of = [&](const op_in_context& how) {
    operand_ring turns = turn(conv, how);
    const std::size_t first = set_up(turns);
    EXPECT_EQ(set_up(turns), first) << "no call was made";
    turns.call(1);
    const std::size_t after_call = set_up(turns);
    turns.call(1);
    turns.warm_shared_cache();
    EXPECT_EQ(set_up(turns), first) << "later steps used the caches";
    return after_call - first;
  };
  op_in_context shares = after_relu(2 << 20);
  shares.shared_bytes = 1 << 20;
  EXPECT_EQ(reads_of(after_relu(2 << 20)), 1U);
  EXPECT_EQ(reads_of(shares), 0U) << "the model writes their memory again";
  EXPECT_EQ(reads_of(after_relu(4 << 16)), 0U) << "private caches keep them";
  EXPECT_EQ(reads_of(after_relu(64 << 20)), 0U) << "no cache keeps them";
}

TEST_F(OperandRing, ResultsAreTheActivationsThatACallWrites) {
  operand_ring turns = turn(conv, after_relu(2 << 20));
  make_calls(turns, 3);
  const std::vector<memory_range> results = turns.results_of(1);
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results.front().start, places("conv", 2).at(1));
  EXPECT_EQ(results.front().bytes, plan_->operands()[2].bytes);
}

TEST_F(OperandRing, IndicesOfCallsDifferAsThoseOfStepsDo) {
  const op::embedding table{.n = 50, .rows = 1000, .columns = 4};
  const auto indices_of_calls = [&](cache_state state) {
    recorder::calls.clear();
    operand_ring turns = turn(table, {.cache = state, .footprint = 1 << 20});
    make_calls(turns, 2 * input_versions);
    std::set<std::vector<float>> values;
    for (const std::byte* place : places("embedding", 0)) {
      const auto* const first = reinterpret_cast<const float*>(place);
      values.insert({first, first + table.n});
    }
    return values;
  };
  EXPECT_THAT(indices_of_calls(cache_state::model), SizeIs(input_versions));
  EXPECT_THAT(indices_of_calls(cache_state::hot), SizeIs(1));
}

TEST_F(OperandRing, ScratchMemoryOfTheStepEvictsThePrivateCaches) {
  op_in_context small = after_relu(100'000);
  EXPECT_EQ(turn(conv, small).evicted_bytes(), 0);
  small.workspace = 1 << 20;
  EXPECT_GT(turn(conv, small).evicted_bytes(), 0);
}

TEST(TurnsThatWarm, TouchTwiceTheSizeOfTheCache) {
  EXPECT_EQ(turns_that_warm(100, 25), 9U);
  EXPECT_EQ(turns_that_warm(100, 150), 2U);
  EXPECT_EQ(turns_that_warm(100, 1000), 1U);
  EXPECT_EQ(turns_that_warm(0, 1), 1U) << "without a cache";
}

TEST_F(OperandRing, ATurnOfTheRingsTakesAsLongAsAStepWhereOthersEvictInTheMeantime) {
  constexpr double step = 0.02;  // seconds
  operand_ring turns = turn(conv, after_relu(2 << 20));
  turns.set_step_seconds(step);
  turns.warm_shared_cache();
  make_calls(turns, 20);
  EXPECT_GE(turns.turn_seconds(), 0.99 * step);
  turns.set_step_seconds(1e6);
  turns.warm_shared_cache();
  make_calls(turns, 20);
  EXPECT_GE(turns.turn_seconds(), step);
  EXPECT_LT(turns.turn_seconds(), 1e5) << "by then all of it is evicted";
  operand_ring large = turn(conv, after_relu(3 << 20));
  large.set_step_seconds(1e6);
  large.warm_shared_cache();
  make_calls(large, 20);
  EXPECT_LT(large.turn_seconds(), 1e5) << "nothing stays in a cache anyway";
}

}  // namespace cache_state_operand_ring_test
}  // namespace layerbench::run
