// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/engine_overhead.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/pool.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_validation_test {

using result::case_name;
using result::measurement;
using result::results;
using ::testing::ElementsAre;
using testing::file_of_a_and_b;
using ::testing::IsEmpty;
using testing::mentions;
using testing::net;
using testing::rounds;
using ::testing::SizeIs;

/// The rounds of the whole step of `owner`.
std::vector<measurement> chain(const case_name& model_case, const std::vector<double>& seconds) {
  std::vector<measurement> rows;
  for (const double second : seconds) {
    measurement row;
    row.name = result::row_name::chain(model_case);
    row.round = static_cast<std::int64_t>(rows.size());
    row.seconds = second;
    rows.push_back(row);
  }
  return rows;
}

/// A file that predicts 12 s for `net`, whose step took these seconds.
results file_of(const std::vector<double>& seconds) {
  results file = file_of_a_and_b({1, 1, 1, 1, 1}, {10, 9, 11, 9.5, 10.5});
  file.chains = chain(net, seconds);
  return file;
}

validated only_case(const std::vector<results>& files) {
  const validation all = validate(files);
  EXPECT_THAT(all.cases, SizeIs(1));
  EXPECT_THAT(all.left_out, IsEmpty());
  return all.cases.at(0);
}

TEST(KernelKinds, OfPoolsDependOnWindowAndStride) {
  const auto kind_of = [](std::int64_t window, std::int64_t stride, std::int64_t depth = 1,
                          std::int64_t depth_stride = 1) {
    op::pool o;
    o.h = o.w = o.d = 8;
    o.r = o.s = window;
    o.stride = {stride, stride};
    o.t = depth;
    o.depth_stride = depth_stride;
    layer_time call{};
    call.op = op::pool::name;
    call.key = key(o);
    return detail::kernel_of(call);
  };
  EXPECT_EQ(kind_of(3, 2), "pool_max");
  EXPECT_EQ(kind_of(2, 2), "pool_max_small");
  EXPECT_EQ(kind_of(2, 2, 2, 2), "pool_max");
  EXPECT_EQ(kind_of(3, 1), "pool_max_dense");
  EXPECT_EQ(kind_of(2, 1), "pool_max_dense");
  EXPECT_EQ(kind_of(2, 1, 1, 2), "pool_max_small");
  EXPECT_EQ(kind_of(8, 1, 8), "pool_global");
}

TEST(KernelKinds, AreOfCallsThatTheEngineMakesInAnotherWay) {
  op::conv o;
  o.c = o.k = o.groups = 32;
  layer_time call{};
  call.op = op::conv::name;
  call.key = key(o);
  EXPECT_EQ(detail::kernel_of(call), "conv_depthwise");
  for (const char* as_the_engine : {",reorders:1", ",backend:mkl"}) {
    call.key = key(o) + as_the_engine;
    EXPECT_EQ(detail::kernel_of(call), "") << as_the_engine;
  }
}

TEST(Validate, ComparesWithTheMedianOfAFewRounds) {
  const validated v = only_case({file_of({16, 10, 15})});
  EXPECT_DOUBLE_EQ(v.predicted.step->seconds, 12);
  EXPECT_DOUBLE_EQ(v.measured.seconds, 15);
  EXPECT_DOUBLE_EQ(v.measured.low, 10) << "the range, as there are fewer than 5 rounds";
  EXPECT_DOUBLE_EQ(v.measured.high, 16);
  EXPECT_EQ(v.measured.rounds, 3);
  EXPECT_DOUBLE_EQ(v.error(), -0.2);
  EXPECT_DOUBLE_EQ(v.naive_error().value(), -0.2);
  EXPECT_EQ(v.interval_contains_measured(), false);
  EXPECT_EQ(only_case({file_of({12.5})}).interval_contains_measured(), true);
}

TEST(Validate, ComparesWithTheMeanOfManyRoundsAndHasItsInterval) {
  std::vector<double> seconds;
  for (int i = 1; i <= 20; ++i) seconds.push_back(100 + i + i % 2);
  const validated v = only_case({file_of(seconds)});
  EXPECT_DOUBLE_EQ(v.measured.seconds, 111);
  // Student's: 2.093 * 5.94 / sqrt(20) to either side.
  EXPECT_NEAR(v.measured.low, 111 - 2.78, 0.3);
  EXPECT_NEAR(v.measured.high, 111 + 2.78, 0.3);
}

TEST(Validate, TakesTheChainOfAnotherFile) {
  results layers = file_of({});
  results steps;
  steps.file = "steps.json";
  steps.context = layers.context;
  steps.chains = chain(net, {12});
  EXPECT_DOUBLE_EQ(only_case({layers, steps}).error(), 0);
  steps.context["device"] = "y";  // another machine's step says nothing of this one
  const validation apart = validate(std::vector{layers, steps});
  EXPECT_THAT(apart.cases, IsEmpty());
  EXPECT_THAT(apart.left_out.at(0).reason, mentions("manifest"));
}

TEST(Validate, HasEachCaseOfEachDevice) {
  const results device = file_of({12});
  results there = file_of({15});
  there.context["device"] = "y";
  const validation all = validate(std::vector{device, there});
  ASSERT_THAT(all.cases, SizeIs(2));
  EXPECT_DOUBLE_EQ(all.cases[0].error(), 0);
  EXPECT_DOUBLE_EQ(all.cases[1].error(), -0.2);
}

TEST(Validate, IgnoresCasesWithoutAChain) {
  results file = file_of({12});
  case_name other = net;
  other.model = "other";
  file.manifest[other] = {{"z", "conv", "fwd", "k:3", 1}};
  EXPECT_THAT(validate(std::vector{file}).left_out, IsEmpty());
}

TEST(Validate, LeavesOutIncompleteCases) {
  results unmeasured = file_of({12});
  std::erase_if(unmeasured.rows, [](const measurement& row) { return row.name.layer == "b"; });
  const validation one = validate(std::vector{unmeasured});
  EXPECT_THAT(one.cases, IsEmpty());
  EXPECT_THAT(one.left_out.at(0).reason, mentions("b"));
  EXPECT_THAT(one.left_out.at(0).files, ElementsAre("r.json"));

  results failed = file_of({12});
  failed.chains.at(0).error = "out of memory";
  EXPECT_THAT(validate(std::vector{failed}).left_out.at(0).reason, mentions("out of memory"));

  failed.chains.at(0).error = std::string(result::left_out_begin) + "--budget=30 was spent";
  const std::string reason = validate(std::vector{failed}).left_out.at(0).reason;
  EXPECT_THAT(reason, mentions("--budget=30", "not measured", "--resume=r.json"));
  EXPECT_EQ(reason.find("failed"), std::string::npos) << reason;
}

TEST(Validate, IgnoresTheOverheadOfAFramework) {
  results file = file_of({12, 12, 12});
  const options chosen{.models = {}, .allow_partial = true, .overhead_per_step = 1};
  EXPECT_DOUBLE_EQ(validate(std::vector{file}, chosen).cases.at(0).predicted.step->seconds, 12);
  std::erase_if(file.rows, [](const auto& row) { return row.name.layer == "b"; });
  const validation partial = validate(std::vector{file}, chosen);
  EXPECT_THAT(partial.cases, IsEmpty());
  EXPECT_THAT(partial.left_out, SizeIs(1));
}

TEST(Validate, NeedsTheContentionOfAnOverlappedStep) {
  results file = file_of({12, 12, 12});
  for (auto& row : file.chains) row.name.model_case = during_allreduces(row.name.model_case);
  const validation all = validate(std::vector{file});
  EXPECT_THAT(all.cases, IsEmpty());
  ASSERT_THAT(all.left_out, SizeIs(1));
  EXPECT_TRUE(all.left_out[0].model_case.contended());
  EXPECT_THAT(all.left_out[0].reason, mentions("contention"));
}

TEST(Validate, NamesTheOptionThatMeasuresChains) {
  EXPECT_THAT([&] { static_cast<void>(validate(std::vector{file_of({})})); },
              ::testing::ThrowsMessage<nothing_matched>(mentions("bench_model", "--chain")));
}

TEST(Validate, TakesTheMeanWithoutStallsAsRowsDo) {
  results file = file_of({13, 13, 13});
  for (measurement& row : file.chains) row.counters["mean_s"] = 12;
  EXPECT_DOUBLE_EQ(only_case({file}).error(), 0);
}

TEST(Validate, HasErrorsByLayerAndOpFromClocksInTheChain) {
  results file = file_of({12});
  EXPECT_THAT(only_case({file}).layers(), IsEmpty());
  file.manifest[net][0].chain_seconds = 1.25;
  file.manifest[net][1].chain_seconds = 7.5;
  const validated v = only_case({file});
  ASSERT_THAT(v.layers(), SizeIs(2));
  EXPECT_DOUBLE_EQ(v.layers()[0].measured, 2.5) << "a runs twice";
  EXPECT_DOUBLE_EQ(v.layers()[0].error(), -0.2);
  ASSERT_THAT(v.ops(), SizeIs(1));
  EXPECT_EQ(v.ops()[0].name, "conv");
  EXPECT_DOUBLE_EQ(v.ops()[0].error(), 0.2) << "12 s for 2 * 1.25 + 7.5";
}

TEST(Validate, MarksDisturbedCases) {
  results file = file_of({12, 12, 12});
  EXPECT_FALSE(only_case({file}).disturbed());
  file.chains.at(1).counters["disturbed"] = 1;
  EXPECT_TRUE(only_case({file}).disturbed());
  results layers = file_of({12});
  for (measurement& row : layers.rows) row.counters["disturbed"] = 1;
  EXPECT_TRUE(only_case({layers}).disturbed());
}

TEST(Validate, ComparesWithUndisturbedRounds) {
  results file = file_of({12, 12, 12, 30, 30, 30, 30});
  for (std::size_t i = 3; i < file.chains.size(); ++i) file.chains[i].counters["disturbed"] = 1;
  EXPECT_EQ(only_case({file}).measured.seconds, 12);
  EXPECT_EQ(only_case({file}).measured.rounds, 7U);
  file.chains[0].counters["disturbed"] = 1;
  EXPECT_EQ(only_case({file}).measured.seconds, (3 * 12 + 4 * 30) / 7.)
      << "two undisturbed ones are too few";
}

TEST(Validate, ComparesWithRoundsThatWereNotSlowed) {
  results file = file_of({12, 20, 20, 20});
  for (std::size_t i = 1; i < 4; ++i) {
    file.chains[i].counters["disturbed"] = file.chains[i].counters["all_slowed"] = 1;
  }
  EXPECT_EQ(only_case({file}).measured.seconds, 12);
}

TEST(Validate, HasTheRangeOfAllRoundsWhereMostWereDisturbed) {
  results file = file_of({12, 12, 12, 30, 30, 30, 31});
  for (std::size_t i = 3; i < file.chains.size(); ++i) file.chains[i].counters["disturbed"] = 1;
  const validated v = only_case({file});
  EXPECT_EQ(v.measured.seconds, 12);
  EXPECT_EQ(v.measured.low, 12);
  EXPECT_EQ(v.measured.high, 31);
  EXPECT_EQ(v.measured.digits(), 2);
}

TEST(Validate, HasNoIntervalOfFewRoundsWhereMostWereDisturbed) {
  results file = file_of({12, 14, 16});
  EXPECT_TRUE(only_case({file}).measured.interval());
  for (measurement& row : file.chains) row.counters["disturbed"] = 1;
  EXPECT_FALSE(only_case({file}).measured.interval());
  EXPECT_EQ(only_case({file}).measured.digits(), 2);
}

TEST(Validate, JudgesNoCaseWithoutAnIntervalOrWithAWideOne) {
  const auto compared = [](const std::vector<double>& b) {
    results file = file_of_a_and_b(std::vector<double>(b.size(), 1), b);
    file.chains = chain(net, {12});
    const validation all = validate({&file, 1});
    EXPECT_EQ(all.interval_coverage().has_value(),
              all.cases.at(0).interval_contains_measured().has_value());
    return all.interval_coverage().has_value();
  };
  EXPECT_FALSE(compared({10})) << "one hot round";
  EXPECT_TRUE(compared({8, 10, 18})) << "from 10 to 20";
  EXPECT_FALSE(compared({8, 10, 18.1}));
}

TEST(Validate, WidensIntervalsOfQuietRoundsWhereMostWereDisturbed) {
  results file = file_of_a_and_b(std::vector<double>(6, 1), {10, 10, 10, 40, 40, 40});
  file.chains = chain(net, {12, 12, 12, 42, 42, 42});
  file.context["turns"] = "true";
  EXPECT_TRUE(only_case({file}).of_quieter_half);
  EXPECT_EQ(only_case({file}).measured.high, 12);
  for (measurement& row : file.rows) row.counters["disturbed"] = row.round > 1 ? 1 : 0;
  for (measurement& row : file.chains) row.counters["disturbed"] = row.round > 1 ? 1 : 0;
  const validated v = only_case({file});
  EXPECT_TRUE(v.of_quieter_half);
  EXPECT_EQ(v.measured.seconds, 12);
  EXPECT_EQ(v.measured.high, 42);
  EXPECT_EQ(v.predicted.step->seconds, 12);
  EXPECT_EQ(v.predicted.step->high(), 42);
}

TEST(Validate, ComparesTheQuieterHalfOfRoundsInTurnsDisturbedOrNot) {
  results file =
      file_of_a_and_b(std::vector<double>(10, 1), {10, 30, 9.5, 10, 10.5, 30, 10, 10, 10, 10});
  file.chains = chain(net, {11.7, 12, 11.8, 13, 12.2, 12, 11.9, 14, 12.4, 14});
  for (const std::size_t i : {4U, 8U}) file.chains[i].counters["disturbed"] = 1;
  for (measurement& row : file.rows) {
    if (row.round == 2 || row.round == 8) row.counters["disturbed"] = 1;
  }
  EXPECT_EQ(only_case({file}).measured.rounds, 10U);
  file.context["turns"] = "true";
  const validated v = only_case({file});
  EXPECT_DOUBLE_EQ(v.measured.seconds, 12) << "the mean of rounds 0, 2, 4, 6, 8";
  EXPECT_DOUBLE_EQ(v.predicted.step->seconds, 12);
  EXPECT_EQ(v.measured.rounds, 5U);
  EXPECT_DOUBLE_EQ(v.measured.disturbed, 0.2) << "of all rounds";
  EXPECT_DOUBLE_EQ(v.predicted.disturbed, 0.2);
}

TEST(Validate, ComparesAllRoundsOfAChainThatRanApartFromItsLayers) {
  results layers = file_of_a_and_b(std::vector<double>(8, 1), std::vector<double>(8, 10));
  layers.context["turns"] = "true";
  results steps;
  steps.file = "steps.json";
  steps.context = layers.context;
  steps.chains = chain(net, std::vector<double>(8, 12));
  EXPECT_EQ(only_case({layers, steps}).measured.rounds, 8U);
  layers.chains = steps.chains;
  EXPECT_EQ(only_case({layers}).measured.rounds, 4U);
}

TEST(Validate, PredictsByTheChosenCacheState) {
  results file = file_of({12});
  const auto model = testing::in_state(rounds(net, "a", "k:1", {2}), "");
  file.rows.insert(file.rows.end(), model.begin(), model.end());
  EXPECT_THAT(validate(std::vector{file}).cases, IsEmpty());
  EXPECT_THAT(validate(std::vector{file}, {.models = {}, .cache = "hot"}).cases, SizeIs(1));
}

/// The only step of an engine that took these seconds in its rounds, beside the calls of a and b.
validated beside_an_engine(const std::vector<double>& a, const std::vector<double>& b,
                           const std::vector<double>& seconds) {
  results calls = file_of_a_and_b(a, b);
  calls.context["turns"] = "true";
  results steps;
  steps.file = "steps.json";
  steps.context = calls.context;
  case_name engine = net;
  engine.backend = "openvino";
  steps.chains = chain(engine, seconds);
  const auto all = validate_engines(std::vector{calls}, std::vector{steps});
  EXPECT_THAT(all, SizeIs(1));
  EXPECT_THAT(all.at(0).pairs.cases, SizeIs(1));
  return all.at(0).pairs.cases.at(0);
}

TEST(ValidateEngines, CountsTheQuieterHalfOfRoundsInTurns) {
  // The calls were disturbed in rounds 1 and 7, the engine in rounds 3, 4 and 8.
  const std::vector<double> a(10, 1);
  const std::vector<double> b{10, 13, 10.2, 10, 10, 10.4, 9.8, 13, 10, 9.6};
  const std::vector<double> engine{16.2, 16, 16, 20, 21, 16.4, 15.8, 16, 20, 15.6};
  const validated v = beside_an_engine(a, b, engine);
  EXPECT_DOUBLE_EQ(v.predicted.step->seconds, 12);
  EXPECT_DOUBLE_EQ(v.measured.seconds, 16);
  EXPECT_EQ(v.measured.rounds, 5);
  EXPECT_EQ(v.predicted.rounds, 5);
}

TEST(ValidateEngines, CountsAllRoundsThatWereFewOrNotInTurns) {
  const std::vector<double> five{1, 1, 1, 1, 1};
  EXPECT_EQ(beside_an_engine(five, five, {9, 9, 9, 9, 18}).measured.rounds, 5);
  const std::vector<double> six{1, 1, 1, 1, 1, 1};
  EXPECT_EQ(beside_an_engine(six, five, {9, 9, 9, 9, 9, 18}).measured.rounds, 6)
      << "the last round of the calls was interrupted";
}

TEST(ValidateEngines, CountsHalfOfTheRoundsThatBothHave) {
  const std::vector<double> six{1, 1, 1, 1, 1, 1};
  EXPECT_EQ(beside_an_engine(six, six, {9, 9, 9, 9, 9, 9, 8}).measured.rounds, 3);
  EXPECT_EQ(beside_an_engine(six, six, {9, 9, 9, 9, 9, 18}).measured.rounds, 3);
}

TEST(Summary, IsOfTheErrorsSizesAndOfTheirMean) {
  const error_summary s = summarize({0.01, -0.04, 0.06, -0.02}).value();
  EXPECT_DOUBLE_EQ(s.mean_abs, 0.0325);
  EXPECT_DOUBLE_EQ(s.median_abs, 0.03);
  EXPECT_DOUBLE_EQ(s.max_abs, 0.06);
  EXPECT_NEAR(s.bias, 0.0025, 1e-15);
  EXPECT_DOUBLE_EQ(s.within_2_percent, 0.5);
  EXPECT_DOUBLE_EQ(s.within_5_percent, 0.75);
  EXPECT_FALSE(summarize({}));
}

}  // namespace analysis_validation_test
}  // namespace layerbench::analysis
