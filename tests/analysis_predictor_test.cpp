// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_predictor_test {

using result::case_name;
using result::measurement;
using result::results;
using ::testing::ElementsAre;
using testing::file_of_a_and_b;
using testing::file_with;
using ::testing::IsEmpty;
using testing::net;
using testing::only;
using testing::rounds;
using ::testing::SizeIs;

TEST(Predict, AddsUpMediansTimesCounts) {
  const prediction p = only({file_of_a_and_b({1, 3, 2}, {10, 20, 30})});
  ASSERT_TRUE(p.step);
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2 + 20);
  EXPECT_EQ(p.step->kind, interval_method::range);
  EXPECT_DOUBLE_EQ(p.step->low(), 2 * 1 + 10);
  EXPECT_DOUBLE_EQ(p.step->high(), 2 * 2 + 30);
  EXPECT_EQ(p.rounds, 3);
  EXPECT_FALSE(p.interrupted);
  EXPECT_DOUBLE_EQ(p.images_per_second().value(), 4 / 24.);
  EXPECT_EQ(p.coverage, 1);
  EXPECT_EQ(p.threads, 3);
  EXPECT_EQ(p.method, "naive hot sum");
  EXPECT_THAT(p.missing, IsEmpty());
  ASSERT_THAT(p.layers, SizeIs(2));
  EXPECT_EQ(p.layers[0].name, "a");
  EXPECT_DOUBLE_EQ(p.layers[0].seconds, 2);
  EXPECT_DOUBLE_EQ(p.layers[0].share, 4 / 24.);
}

TEST(Predict, MarksModelsThatLackNodes) {
  results file = file_of_a_and_b({1, 3, 2}, {10, 20, 30});
  EXPECT_FALSE(only({file}).partial());
  for (result::planned& one : file.manifest[net]) one.left_out = 0.25;
  const prediction p = only({file});
  EXPECT_TRUE(p.partial());
  EXPECT_EQ(p.left_out, 0.25);
  EXPECT_DOUBLE_EQ(p.coverage, 0.75);
  ASSERT_TRUE(p.step);
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2 + 20);
}

TEST(Predict, HasNoIntervalForOneRound) {
  const prediction p = only({file_of_a_and_b({1.5}, {0.1})});
  EXPECT_EQ(p.step->low(), p.step->seconds);
  EXPECT_EQ(p.step->high(), p.step->seconds);
  EXPECT_EQ(p.step->kind, interval_method::none);
  EXPECT_EQ(p.rounds, 1);
}

TEST(Predict, HasAnIntervalFromFiveRoundsOn) {
  const std::vector<double> drift{10, 11, 12, 13, 14};
  const results file = file_of_a_and_b(drift, drift);
  const prediction p = only({file});
  EXPECT_EQ(p.step->kind, interval_method::bootstrap);
  EXPECT_DOUBLE_EQ(p.step->seconds, 3 * 12);
  EXPECT_GE(p.step->low(), 3 * 10);
  EXPECT_LT(p.step->low(), 3 * 12);
  EXPECT_LE(p.step->high(), 3 * 14);
  EXPECT_GT(p.step->high(), 3 * 12);
  EXPECT_EQ(only({file}).step->low(), p.step->low()) << "not the same draws";
}

TEST(Predict, MarksInterruptedMeasurements) {
  results file = file_of_a_and_b({1}, {1});
  file.context["interrupted"] = "0";
  EXPECT_FALSE(only({file}).interrupted);
  results stopped = file;
  stopped.context["interrupted"] = "1";
  EXPECT_TRUE(only({file, stopped}).interrupted);
}

TEST(Predict, KeepsTheSumOfMeansInsideItsInterval) {
  const results file = file_of_a_and_b({1, 9, 1, 1, 1}, {18, 2, 18, 18, 18});
  const prediction p = only({file});  // every round takes 20, what counts 2 * 1 + 14.8
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 + 14.8);
  EXPECT_LE(p.step->low(), p.step->seconds);
  EXPECT_GE(p.step->high(), p.step->seconds);
}

TEST(Predict, ComparesOnlyRoundsThatAllLayersHave) {
  const prediction p = only({file_of_a_and_b({1, 1, 1, 100}, {1, 1})});
  EXPECT_EQ(p.rounds, 2);
  EXPECT_DOUBLE_EQ(p.step->high(), 3);
}

TEST(Predict, RefusesAThroughputWhileALayerIsMissing) {
  const results file = file_with({rounds(net, "a", "k:1", {1})});
  const prediction refused = only({file});
  EXPECT_FALSE(refused.step);
  EXPECT_FALSE(refused.images_per_second());
  EXPECT_FALSE(refused.partial());
  EXPECT_DOUBLE_EQ(refused.coverage, 2 / 3.);
  EXPECT_THAT(refused.missing, ElementsAre("b"));
  const prediction partial = only({file}, {.models = {}, .allow_partial = true});
  EXPECT_TRUE(partial.partial());
  EXPECT_DOUBLE_EQ(partial.step->seconds, 2);
}

TEST(Predict, HasNoPartialSumOfNothing) {
  const prediction p = only({file_with({})}, {.models = {}, .allow_partial = true});
  EXPECT_FALSE(p.step);
  EXPECT_EQ(p.coverage, 0);
  EXPECT_THAT(p.missing, ElementsAre("a", "b"));
}

TEST(Predict, TreatsAFailedRowAsMissing) {
  results file = file_of_a_and_b({1}, {1});
  file.rows.back().error = "unsupported";
  EXPECT_THAT(only({file}).missing, ElementsAre("b"));
}

TEST(Predict, UsesRowsOfOneCacheState) {
  results file = file_of_a_and_b({1}, {1});
  file.rows.back().name.cache = "cold";
  EXPECT_THAT(only({file}).missing, ElementsAre("b"));
}

TEST(Predict, UsesRowsOfOtherModels) {
  case_name other = net;
  other.model = "other";
  other.batch = 9;  // the sizes are in the key
  const prediction p =
      only({file_with({rounds(net, "a", "k:1", {1}), rounds(other, "z", "k:2", {5})})});
  EXPECT_DOUBLE_EQ(p.step->seconds, 7);
}

TEST(Predict, PrefersRowsOfTheCaseItself) {
  case_name other = net;
  other.model = "other";
  case_name third = net;
  third.model = "third";
  results file = file_with({rounds(other, "x", "k:1", {9, 9}), rounds(net, "a", "k:1", {1, 3}),
                            rounds(other, "y", "k:2", {4, 5}), rounds(third, "z", "k:2", {8, 7})});
  EXPECT_DOUBLE_EQ(only({file}).step->seconds, 2 * 2 + 6) << "own rows, and those of both others";
  file.rows.at(2).error = "failed";  // its own rows are no timings any more
  file.rows.at(3).error = "failed";
  EXPECT_DOUBLE_EQ(only({file}).step->seconds, 2 * 9 + 6);
}

TEST(Predict, UsesNoRowsOfOtherThreadsOrTypes) {
  case_name threads = net;
  threads.parameters["threads"] = "2";
  case_name half = net;
  half.dtype = "f16";
  const prediction p =
      only({file_with({rounds(net, "a", "k:1", {1}), rounds(threads, "b", "k:2", {5}),
                       rounds(half, "b", "k:2", {5})})});
  EXPECT_THAT(p.missing, ElementsAre("b"));
}

TEST(Predict, MergesFilesOfEqualContext) {
  results convolutions = file_with({rounds(net, "a", "k:1", {1, 3})});
  results products = file_with({rounds(net, "b", "k:2", {10, 20})});
  convolutions.context["date"] = "monday";
  const prediction p = only({convolutions, products});
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2 + 15);
  EXPECT_DOUBLE_EQ(p.step->low(), 12);
  EXPECT_DOUBLE_EQ(p.step->high(), 26);
  EXPECT_THAT(p.files, SizeIs(2));
}

TEST(Predict, AppendsFurtherRounds) {
  const results first = file_of_a_and_b({1}, {1});
  const results second = file_of_a_and_b({3, 8}, {2, 2});
  const prediction p = only({first, second});
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 3 + 2);
  EXPECT_EQ(p.rounds, 3);
  EXPECT_DOUBLE_EQ(p.step->low(), 3);
  EXPECT_DOUBLE_EQ(p.step->high(), 18);
}

TEST(Predict, LeavesOutDisturbedRoundsWhereThreeOthersAreLeft) {
  results first = file_of_a_and_b({1, 9, 9, 9}, {1});
  for (measurement& row : first.rows) row.counters["disturbed"] = row.seconds == 9 ? 1 : 0;
  EXPECT_DOUBLE_EQ(only({first}).step->seconds, 2 * 9 + 1);
  const results second = file_with({rounds(net, "a", "k:1", {1, 1})});
  const prediction both = only({first, second});
  EXPECT_DOUBLE_EQ(both.step->seconds, 2 * 1 + 1);
  EXPECT_DOUBLE_EQ(both.disturbed, 3 / 7.);
}

/// Marks the rounds of this time as taken while the processors were slow.
void mark_slowed(results& file, double seconds) {
  for (measurement& row : file.rows) {
    if (row.seconds == seconds) row.counters["disturbed"] = row.counters["all_slowed"] = 1;
  }
}

TEST(Predict, UsesSlowedRoundsOnlyWhereThereAreNoOthers) {
  results file = file_of_a_and_b({1, 9, 9, 9}, {9});
  mark_slowed(file, 9);
  EXPECT_DOUBLE_EQ(only({file}).step->seconds, 2 * 1 + 9);
}

TEST(Predict, CorrectsSlowedRoundsByOtherLayersOfTheirOp) {
  const auto predicted = [](std::int64_t layers, const std::string& op) {
    results file = file_of_a_and_b({9}, {9});
    for (std::int64_t i = 0; i < layers; ++i) {
      const std::string name = "c" + std::to_string(i);
      const std::string key = "k:" + std::to_string(3 + i);
      file.manifest[net].push_back({name, op, "fwd", key, 1});
      std::vector<measurement> more = rounds(net, name, key, {2, 9});
      for (measurement& row : more) row.name.op = op;
      file.rows.insert(file.rows.end(), more.begin(), more.end());
    }
    mark_slowed(file, 9);
    return only({file}).step->seconds;
  };
  EXPECT_DOUBLE_EQ(predicted(5, "conv"), 5 * 2 + (2 + 1) * 9 / 4.5);
  EXPECT_DOUBLE_EQ(predicted(4, "conv"), 4 * 2 + (2 + 1) * 9) << "too few layers";
  EXPECT_DOUBLE_EQ(predicted(5, "gemm"), 5 * 2 + (2 + 1) * 9) << "of another op";
}

TEST(Predict, HasNoIntervalOfFewRoundsWhereMostWereDisturbed) {
  for (const std::size_t count : {1U, 4U, 5U}) {
    results file = file_of_a_and_b(std::vector<double>(count, 1), std::vector<double>(count, 10));
    for (auto* step : {&file.manifest[net]}) {
      for (result::planned& layer : *step) layer.state = "cold";
    }
    file.rows = testing::in_state(file.rows, "cold");
    EXPECT_TRUE(only({file}).step->interval()) << "the usual error of the method";
    for (measurement& row : file.rows) row.counters["disturbed"] = 1;
    EXPECT_EQ(only({file}).step->interval().has_value(), count == 5) << count;
    EXPECT_EQ(only({file}).few_rounds(), count < 5) << count;
  }
}

TEST(Predict, HasTheRangeOfAllRoundsWhereMostWereDisturbed) {
  results file = file_of_a_and_b({1, 1, 1, 4, 5, 6, 7}, std::vector<double>(7, 10));
  const auto disturb = [&](std::int64_t from) {
    for (measurement& row : file.rows) row.counters["disturbed"] = row.round >= from ? 1 : 0;
  };
  disturb(4);
  EXPECT_EQ(only({file}).step->kind, interval_method::bootstrap) << "three of seven";
  EXPECT_EQ(only({file}).digits(), 4);
  disturb(3);
  const prediction p = only({file});
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 1 + 10) << "of the undisturbed rounds";
  EXPECT_EQ(p.step->kind, interval_method::range);
  EXPECT_DOUBLE_EQ(p.step->low(), 2 * 1 + 10);
  EXPECT_DOUBLE_EQ(p.step->high(), 2 * 7 + 10);
  EXPECT_EQ(p.digits(), 2) << "12 s, known to half of 12 s";
}

TEST(Predict, KeepsRoundsThatCarryTheSameNumber) {
  results file = file_of_a_and_b({1, 2, 9}, {1});
  for (measurement& row : file.rows) row.round = 0;
  EXPECT_DOUBLE_EQ(only({file}).step->seconds, 2 * 2 + 1);
}

TEST(Predict, MergesNoFilesOfDifferingContexts) {
  const results device = file_of_a_and_b({1}, {1});
  results there = file_with({rounds(net, "a", "k:1", {9})});
  there.context["device"] = "y";
  there.context["threads"] = "many";
  const std::vector<prediction> all = predict(std::vector{device, there});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_DOUBLE_EQ(all[0].step->seconds, 3);
  EXPECT_FALSE(all[1].step);
  EXPECT_EQ(all[1].threads, 0);
}

TEST(Predict, RefusesAFileOfAggregates) {
  results file = file_with({});
  file.aggregates = 3;
  EXPECT_THAT([&] { static_cast<void>(only({file})); },
              ::testing::ThrowsMessage<bad_input>(
                  testing::mentions("r.json", "--benchmark_report_aggregates_only")));
}

}  // namespace analysis_predictor_test
}  // namespace layerbench::analysis
