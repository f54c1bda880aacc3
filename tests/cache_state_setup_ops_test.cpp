// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/op/list.hpp>

#include "support/recorder.hpp"

namespace layerbench::run {
namespace cache_state_setup_ops_test {

using namespace recorded;
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

TEST_F(OperandRing, AnInPlaceOpWritesItsSource) {
  op_in_context how = after_relu(8 << 20);
  how.operands = {from_conv(0), {.distance = 0, .same_as = 0}};
  operand_ring turns = turn(relu, how);
  make_calls(turns, 10);
  EXPECT_EQ(places("activation", 0), places("activation", 1));
  EXPECT_EQ(places("activation", 0), places("conv", 2));
}

TEST_F(OperandRing, TheProducerOfASourceThatTheCallOverwritesRunsOnce) {
  op_in_context how = after_relu(900'000);
  how.operands = {from_conv(0), {.distance = 0, .same_as = 0}};
  how.operands[0].uses = {{0, op::any(conv), op::pass::fwd, {2}, /*writes=*/true, tensor_bytes, 0}};
  operand_ring turns = turn(relu, how, shared_);
  make_calls(turns, 10);
  EXPECT_THAT(places("conv", 2), SizeIs(10));
}

TEST_F(OperandRing, AProducerReadsWhatNobodyWrites) {
  op_in_context how = after_relu(8 << 20);
  operand_ring turns = turn(conv, how);
  make_calls(turns, 200);
  const auto written = places("conv", 2);
  for (const std::byte* read : places("activation", 0)) {
    for (const std::byte* byte : written)
      EXPECT_GE(std::abs(read - byte), std::ptrdiff_t{tensor_bytes});
  }
}

TEST_F(OperandRing, ASourceOfLongAgoIsWrittenSoManyCallsBefore) {
  const op::add add{{1, 64, 8, 8}};
  op_in_context how{.cache = cache_state::model,
                    .footprint = 64 << 20,
                    .operands = {from_conv(0), from_relu(1 << 20)}};
  operand_ring turns = turn(add, how);
  make_calls(turns, 60);
  const auto residual = places("add", 1);
  EXPECT_EQ(places("add", 0), places("conv", 2));
  // No core's own cache has it any more: a copy will do, and that of call i is for call i + lead.
  std::vector<address> copied;
  for (const auto& [calls_before, to] : recorder::copies) {
    if (std::ranges::find(residual, to) != residual.end()) copied.push_back(to);
  }
  const auto is_leader = [&](std::size_t lead) {
    return std::equal(residual.begin() + static_cast<std::ptrdiff_t>(lead), residual.end(),
                      copied.begin());
  };
  std::size_t lead = 0;
  while (lead < residual.size() && !is_leader(lead)) ++lead;
  const std::size_t touched = 3 * tensor_bytes + tensor_bytes + weights_bytes + tensor_bytes;
  EXPECT_NEAR(static_cast<double>(lead), (1 << 20) / static_cast<double>(touched), 0.51);
  // Before a measurement pass those of the calls before, which it does not make, are written, too.
  recorder::copies.clear();
  turns.warm_shared_cache();
  EXPECT_THAT(recorder::copies, SizeIs(lead));
  const auto next = recorder::copies;
  make_calls(turns, static_cast<int>(lead));
  const auto read = places("add", 1);
  for (std::size_t i = 0; i < lead; ++i) EXPECT_EQ(next[i].second, read[60 + i]);
}

TEST_F(OperandRing, WeightsThatTheStepReadBeforeAreTouchedAgain) {
  op_in_context how = after_relu(8 << 20);
  how.operands.push_back({.distance = 0});
  operand_ring turns = turn(conv, how);
  EXPECT_GE(turns.setup_bytes(), tensor_bytes + weights_bytes);
  how.operands.back() = {};
  EXPECT_LT(turn(conv, how).setup_bytes(), weights_bytes);
}

TEST_F(OperandRing, AProducerOfSeveralResultsWritesTheOneThatIsRead) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  const op::any producer(norm);
  constexpr std::size_t dst = 5;
  constexpr std::size_t mean = 6;
  op_in_context how{.cache = cache_state::model,
                    .footprint = 8 << 20,
                    .operands = {{.distance = 0,
                                  .producer = producer,
                                  .producer_pass = op::pass::fwd_training,
                                  .producer_output = dst}}};
  operand_ring turns = turn(conv, how);
  make_calls(turns, 10);
  EXPECT_EQ(places("batchnorm", dst), places("conv", 0));
  const auto beside = places("batchnorm", mean);
  const auto read = places("conv", 0);
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_NE(beside[i], read[i]);
}

TEST_F(OperandRing, StatisticsOfProducersAreValid) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  constexpr std::size_t dst = 5;
  constexpr std::size_t variance = 4;
  op_in_context how{
      .cache = cache_state::model,
      .footprint = 4 << 20,
      .operands = {{.distance = 0, .producer = op::any(norm), .producer_output = dst}}};
  operand_ring turns = turn(relu, how);
  make_calls(turns, 40);
  const auto places_of_it = places("batchnorm", variance);
  ASSERT_THAT(places_of_it, SizeIs(40));
  for (const std::byte* byte : places_of_it) {
    const auto* values = reinterpret_cast<const float*>(byte);
    EXPECT_THAT(std::vector<float>(values, values + norm.c), Each(Ge(0.25F)));
  }
}

TEST_F(OperandRing, PositionsInWindowsAreValid) {
  const op::pool pool{.n = 1, .c = 64, .h = 8, .w = 8, .r = 2, .s = 2, .stride = {2, 2}};
  op_in_context how{
      .request = {.pass = op::pass::bwd},
      .cache = cache_state::model,
      .footprint = 4 << 20,
      .operands = {{}, {.distance = 0, .producer = op::any(relu), .producer_output = 1}}};
  operand_ring turns = turn(pool, how);
  make_calls(turns, 40);
  constexpr std::size_t workspace = 1;
  for (const std::byte* place : places("pool", workspace)) {
    const auto* taps = reinterpret_cast<const float*>(place);  // as the reference has all numbers
    EXPECT_THAT(std::vector<float>(taps, taps + 64 * 4 * 4), Each(AllOf(Ge(0), Le(3))));
  }
}

TEST_F(OperandRing, OfWhatAProducerWritesBesideItsResultACopyIsEnough) {
  const op::any norm(op::batchnorm{.n = 1, .c = 64, .h = 8, .w = 8});
  constexpr std::size_t mean = 6;
  op_in_context how{.request = {.pass = op::pass::bwd},
                    .cache = cache_state::model,
                    .footprint = 4 << 20,
                    .operands = {{}, {}, {}}};
  how.operands.push_back({.distance = 0,
                          .producer = norm,
                          .producer_pass = op::pass::fwd_training,
                          .producer_output = mean});
  operand_ring turns = turn(op::batchnorm{.n = 1, .c = 64, .h = 8, .w = 8}, how);
  make_calls(turns, 10);
  EXPECT_THAT(recorder::calls, Each(::testing::Field(&recorder::call::operands, SizeIs(8))))
      << "all are gradients";
}

/// A convolution whose result a relu read in the step before, so many bytes ago.
/// The model takes a whole number of windows, of which each has the relu's result, too.
op_in_context read_before(std::int64_t distance) {
  constexpr std::int64_t footprint = 5 * (weights_bytes + 3 * tensor_bytes);
  op_in_context how{.cache = cache_state::model, .footprint = footprint, .operands = {{}, {}, {}}};
  how.operands[2].uses = {
      {0, op::any(relu), op::pass::fwd, {0}, /*writes=*/false, tensor_bytes, distance}};
  return how;
}

TEST_F(OperandRing, WhatSeveralThreadsWriteIsReadBeforeByWhoReadItInTheModel) {
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  for (const std::size_t lead : {1U, 3U}) {
    recorder::calls.clear();
    operand_ring turns =
        turn(conv, read_before(static_cast<std::int64_t>(lead * touched)), shared_);
    make_calls(turns, 20);
    const auto read = places("activation", 0);
    const auto written = places("conv", 2);
    ASSERT_GE(read.size(), written.size());
    for (std::size_t i = lead; i < written.size(); ++i) EXPECT_EQ(written[i], read[i - lead]);
  }
  operand_ring alone = turn(conv, read_before(3 * touched));
  recorder::calls.clear();
  make_calls(alone, 20);
  const auto written = places("conv", 2);
  EXPECT_THAT(places("activation", 0), Each(Not(::testing::AnyOfArray(written))))
      << "one thread has nobody to tell";
}

TEST_F(OperandRing, OfMemoryThatOneThreadUsedNotLongAgoACopyIsEnough) {
  constexpr std::size_t touched = weights_bytes + 3 * tensor_bytes;
  operand_ring turns = turn(conv, read_before(touched));
  make_calls(turns, 20);
  EXPECT_THAT(places("activation", 0), IsEmpty());
  const auto written = places("conv", 2);
  for (std::size_t i = 1; i < written.size(); ++i) {
    EXPECT_THAT(recorder::copies, Contains(Pair(i - 1, written[i]))) << "one call ahead";
  }
}

/// A convolution whose source a relu wrote so many bytes ago, which read the memory that the
/// convolution writes.
op_in_context after_reader(std::int64_t distance) {
  op_in_context how = read_before(distance);
  how.operands[0] = from_relu(distance);
  how.operands[0].uses = {
      {0, op::any(relu), op::pass::fwd, {1}, /*writes=*/true, tensor_bytes, distance}};
  return how;
}

TEST_F(OperandRing, AProducerReadsItsSourceInTheMemoryThatTheCallWrites) {
  for (device_context* const context : {&memory_, &shared_}) {
    operand_ring turns = turn(conv, after_reader(0), *context);
    recorder::calls.clear();
    recorder::copies.clear();
    make_calls(turns, 5);
    const auto written = places("conv", 2);
    EXPECT_EQ(places("activation", 0), written);
    EXPECT_EQ(places("activation", 1), places("conv", 0));
    ASSERT_THAT(written, SizeIs(5));
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_THAT(recorder::copies, Contains(Pair(2 * i, written[i]))) << "before relu " << i;
    }
  }

  op_in_context another = after_reader(0);
  another.operands[0].uses.front().call = 1;
  operand_ring apart = turn(conv, another);
  recorder::calls.clear();
  make_calls(apart, 5);
  ASSERT_THAT(places("activation", 0), Not(IsEmpty()));
  EXPECT_THAT(places("activation", 0), Each(Not(::testing::AnyOfArray(places("conv", 2)))))
      << "another call used it";
}

TEST_F(OperandRing, AProducerReadsInTheMemoryOfTheCallThatComesLater) {
  constexpr std::int64_t touched = weights_bytes + 3 * tensor_bytes;
  operand_ring turns = turn(conv, after_reader(touched), shared_);
  make_calls(turns, 20);
  const auto written = places("conv", 2);
  const auto sources = places("conv", 0);
  const auto read = places("activation", 0);
  const auto results = places("activation", 1);
  ASSERT_THAT(read, SizeIs(written.size()));
  for (std::size_t i = 1; i < written.size(); ++i) {
    EXPECT_EQ(read[i - 1], written[i]);
    EXPECT_EQ(results[i - 1], sources[i]);
  }
  for (const std::byte* place : read) {
    EXPECT_THAT(recorder::copies, Contains(Pair(::testing::_, place)));
  }
}

TEST_F(OperandRing, AProducersSourceMayBeLargerThanTheResultInItsMemory) {
  const op::pool pool{.n = 1, .c = 64, .h = 8, .w = 8, .r = 2, .s = 2, .stride = {2, 2}};
  const op::activation small{.kind = op::activation_kind::relu, .dims = {1, 64, 4, 4}};
  const auto use_of = [&](std::size_t operand) {
    return previous_use{0, op::any(pool), op::pass::fwd, {operand}, operand == 1, tensor_bytes, 0};
  };
  op_in_context how{
      .cache = cache_state::model,
      .footprint = 8 << 20,
      .operands = {{.distance = 0, .producer = op::any(pool), .producer_output = 1, .uses = {}},
                   {}}};
  how.operands[0].uses = {use_of(1)};
  how.operands[1].uses = {use_of(0)};
  operand_ring turns = turn(small, how);
  make_calls(turns, 5);
  const auto written = places("pool", 0);
  ASSERT_THAT(written, SizeIs(5));
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_THAT(places("activation", 1), Contains(written[i]));
    if (i == 0) continue;
    EXPECT_GE(std::abs(written[i] - written[0]), std::ptrdiff_t{tensor_bytes});
  }
  for (std::size_t i = 0; i < recorder::copies.size(); ++i) {
    if (recorder::copies[i].second == written.back()) {
      EXPECT_EQ(recorder::copied_bytes[i], tensor_bytes);
    }
  }
}

TEST_F(OperandRing, WhatCoresHoldOfADestinationIsReadBeforeInLargerModels) {
  for (const bool held : {true, false}) {
    recorder::calls.clear();
    recorder::copies.clear();
    op_in_context how = read_before(held ? 0 : 200'000);
    how.footprint = 8 << 20;
    operand_ring turns = turn(conv, how, shared_);
    make_calls(turns, 40);
    const std::byte* const last = places("conv", 2).back();
    EXPECT_EQ(::testing::Value(places("activation", 0), Contains(last)), held);
    EXPECT_EQ(::testing::Value(recorder::copies, Contains(Pair(::testing::_, last))), !held);
  }
}

TEST_F(OperandRing, MemoryOfUsersThatNeedCertainValuesIsOnlyWritten) {
  op_in_context how = read_before(0);
  constexpr std::size_t variance = 4;
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  how.operands[2].uses = {{0, op::any(norm), op::pass::fwd, {variance}, /*writes=*/false, 256, 0}};
  operand_ring turns = turn(conv, how, shared_);
  make_calls(turns, 5);
  EXPECT_THAT(places("batchnorm", variance), IsEmpty());
  for (const std::byte* place : places("conv", 2)) {
    EXPECT_THAT(recorder::copies, Contains(Pair(::testing::_, place)));
  }
  how.operands[2].uses.front().operands = {0};
  operand_ring read = turn(conv, how, shared_);
  make_calls(read, 5);
  EXPECT_THAT(places("batchnorm", 0), SizeIs(5));
}

TEST_F(OperandRing, EachUseOfAPartOfADestinationsMemoryIsRepeated) {
  op_in_context how = read_before(0);
  const op::activation half{.kind = op::activation_kind::relu, .dims = {1, 32, 8, 8}};
  const op::add twice{{1, 128, 8, 8}};
  how.operands[2].uses = {
      {1, op::any(half), op::pass::fwd, {0}, /*writes=*/false, tensor_bytes / 2, 0},
      {0, op::any(twice), op::pass::fwd, {1}, /*writes=*/false, 2 * tensor_bytes, 0}};
  operand_ring turns = turn(conv, how, shared_);
  recorder::calls.clear();
  make_calls(turns, 10);
  const auto written = places("conv", 2);
  EXPECT_EQ(places("add", 1), written);
  std::vector<std::string_view> users;
  for (const recorder::call& call : recorder::calls) {
    if (std::ranges::find(call.operands, written[0]) != call.operands.end()) {
      users.push_back(call.op);
    }
  }
  ASSERT_THAT(users, SizeIs(Ge(3)));
  users.resize(3);
  EXPECT_THAT(users, ElementsAre("add", "activation", "conv")) << "the latest comes last";
  for (const std::byte* other : written) {
    if (other != written[0]) {
      EXPECT_GE(std::abs(other - written[0]), std::ptrdiff_t{2 * tensor_bytes});
    }
  }
  operand_ring alone = turn(conv, how);
  make_calls(alone, 1);
  EXPECT_THAT(places("add", 1), SizeIs(written.size())) << "one thread needs no users";
  std::vector<std::size_t> bytes;
  for (std::size_t i = 0; i < recorder::copies.size(); ++i) {
    const auto& [calls_before, to] = recorder::copies[i];
    const bool last = calls_before == recorder::copies.back().first;
    if (last && to == places("conv", 2).back()) bytes.push_back(recorder::copied_bytes[i]);
  }
  EXPECT_THAT(bytes, ElementsAre(tensor_bytes, tensor_bytes / 2)) << "copies do";
}

TEST_F(OperandRing, OlderUsesOfWeightsAreNotRepeated) {
  op_in_context how = read_before(0);
  how.operands[2].uses.clear();
  const op::activation half{.kind = op::activation_kind::relu, .dims = {1, 32, 8, 8}};
  how.operands[1].uses = {
      {1, op::any(half), op::pass::fwd, {0}, /*writes=*/false, tensor_bytes / 2, 300'000},
      {0, op::any(relu), op::pass::fwd, {0, 1}, /*writes=*/true, tensor_bytes, 400'000}};
  operand_ring turns = turn(conv, how, shared_);
  make_calls(turns, 10);
  EXPECT_THAT(places("activation", 1), Each(Not(::testing::AnyOfArray(places("conv", 1)))));
}

TEST_F(OperandRing, WeightsThatTheStepUpdatesAreWrittenBefore) {
  op_in_context how = read_before(0);
  how.footprint = 5 * (weights_bytes + 2 * tensor_bytes);
  how.operands[2].uses.clear();
  how.operands[1].uses = {
      {0, op::any(relu), op::pass::fwd, {0, 1}, /*writes=*/true, tensor_bytes, 300'000}};
  operand_ring turns = turn(conv, how, shared_);
  make_calls(turns, 20);
  const auto used = places("conv", 1);
  EXPECT_EQ(places("activation", 0), places("activation", 1));
  for (const std::byte* place : places("activation", 1)) EXPECT_THAT(used, Contains(place));
}

TEST_F(OperandRing, OfASourceManyTimesTheCoresCachesACopyIsEnough) {
  const dims large{1, 64, 64, 64};
  op::conv reads = conv;
  reads.h = reads.w = 64;
  const operand_history written{
      .distance = 0,
      .producer = op::any(op::activation{op::activation_kind::relu, large}),
      .producer_output = 1};
  operand_ring turns =
      turn(reads, {.cache = cache_state::model, .footprint = 64 << 20, .operands = {written}});
  make_calls(turns, 3);
  const auto sources = places("conv", 0);
  ASSERT_THAT(sources, SizeIs(3));
  for (std::byte* source : sources) {
    EXPECT_THAT(places("activation", 1), ::testing::Not(Contains(source)));
    EXPECT_THAT(recorder::copies, Contains(Pair(::testing::_, source)));
  }
}

TEST_F(OperandRing, StatisticsThatAreUpdatedInPlaceAreValid) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  constexpr std::size_t variance = 4;
  op_in_context how{.request = {.pass = op::pass::fwd_training},
                    .cache = cache_state::model,
                    .footprint = 4 << 20,
                    .operands = {10, operand_history{}}};
  how.operands[8].same_as = 3;
  how.operands[9].same_as = variance;
  operand_ring turns = turn(norm, how);
  make_calls(turns, 1);
  const auto* values = reinterpret_cast<const float*>(places("batchnorm", variance).front());
  EXPECT_EQ(places("batchnorm", variance), places("batchnorm", 9));
  EXPECT_THAT(std::vector<float>(values, values + norm.c), Each(Ge(0.25F)));
}

TEST_F(OperandRing, StatisticsAreValidInEveryCopy) {
  const op::batchnorm norm{.n = 1, .c = 64, .h = 8, .w = 8};
  operand_ring turns =
      turn(norm, {.cache = cache_state::model, .footprint = 4 << 20, .operands = {from_conv(0)}});
  make_calls(turns, 40);
  const auto operands = norm.operands(op::pass::fwd, dtype::f32);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != op::role::statistics && operands[i].role != op::role::weights) continue;
    const auto where = places("batchnorm", i);
    EXPECT_GT(std::set(where.begin(), where.end()).size(), 10U);
    for (const std::byte* byte : where) {
      const auto* values = reinterpret_cast<const float*>(byte);
      const std::vector<float> all(values, values + 64);
      EXPECT_THAT(all, Each(::testing::AllOf(Ge(operands[i].low), Le(operands[i].high))));
    }
  }
}

}  // namespace cache_state_setup_ops_test
}  // namespace layerbench::run
