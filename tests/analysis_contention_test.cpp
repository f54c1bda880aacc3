// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/json.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/report/markdown.hpp>
#include <layerbench/report/page.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_contention_test {

using result::case_name;
using result::measurement;
using result::results;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::mentions;
using testing::rounds;
using ::testing::SizeIs;

const case_name of_ranks{"reference", "f32", "net", 4, {{"phase", "training"}, {"ranks", "2"}}};

case_name during(case_name model_case) {
  model_case.parameters["during"] = "allreduce";
  return model_case;
}

std::vector<double> seven(double seconds) {
  std::vector<double> all;
  for (int i = 0; i < 7; ++i) all.push_back(seconds * (1 + 0.001 * (i % 3)));
  return all;
}

std::vector<measurement> of_pass(std::vector<measurement> rows, const std::string& pass) {
  for (measurement& row : rows) row.name.pass = pass;
  return rows;
}

/// A forward call, two backward calls and an all-reduce. The first backward call takes `slower`
/// times as long while gradients are sent, the second is not affected.
results measured(double slower) {
  using enum model::step_part;
  results file;
  file.file = "r.json";
  file.context = {{"device", "x"}, {"threads", "1"}};
  file.manifest[of_ranks] = {{"a", "conv", "fwd", "k:1", 1},
                             {"a", "conv", "bwd_data", "k:1", 1},
                             {"a", "conv", "bwd_weights", "k:1", 2},
                             {"bucket1", "allreduce", "fwd", "bytes:4,ranks:2", 1}};
  for (const std::size_t i : {1U, 2U, 3U}) file.manifest[of_ranks][i].part = backward;
  std::vector<measurement> reduced = rounds(of_ranks, "bucket1", "bytes:4,ranks:2", seven(9));
  for (measurement& row : reduced) row.name.op = "allreduce";
  for (const auto& rows :
       {of_pass(rounds(of_ranks, "a", "k:1", seven(5)), "fwd"),
        of_pass(rounds(of_ranks, "a", "k:1", seven(3)), "bwd_data"),
        of_pass(rounds(of_ranks, "a", "k:1", seven(1)), "bwd_weights"), reduced,
        of_pass(rounds(during(of_ranks), "a", "k:1", seven(3 * slower)), "bwd_data"),
        of_pass(rounds(during(of_ranks), "a", "k:1", seven(1)), "bwd_weights")}) {
    file.rows.insert(file.rows.end(), rows.begin(), rows.end());
  }
  return file;
}

slowdown_interval factors_of(const std::vector<results>& files) {
  return contentions(files).at(0).factors;
}

TEST(Contention, IsTheSlowdownOfTheBackwardPart) {
  const std::vector<results> files{measured(2)};
  const std::vector<measured_contention> found = contentions(files);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].model_case, of_ranks);
  EXPECT_EQ(found[0].threads, 1);
  const auto& [usual, low, high] = found[0].factors;
  EXPECT_NEAR(usual.computing, (2 * 3 + 2 * 1) / (3 + 2 * 1.), 1e-9);
  EXPECT_LT(low.computing, usual.computing);
  EXPECT_GT(high.computing, usual.computing);
  EXPECT_EQ(usual.sending, 1) << "the rows lack the counters";
  EXPECT_THAT(text(found), mentions(headline(of_ranks, 1), "1.600"));
  json::value result = to_json(predict(files));
  add_contentions(result, found);
  EXPECT_EQ(result.at("contentions").at(0).at("case"), of_ranks.text());
  EXPECT_EQ(result.at("contentions").at(0).at("ratio"), usual.computing);
  EXPECT_TRUE(result.at("contentions").at(0).at("sending").is_null());
}

TEST(Contention, IsPartOfReports) {
  const std::vector<results> files{measured(2)};
  const report::report_data all = report::report_data_of(files);
  for (const std::string& page : {report::markdown(all), report::page(all)}) {
    EXPECT_THAT(page, mentions(headline(of_ranks, 1), "1.600"));
  }
}

TEST(Contention, AddsNoPrediction) {
  const std::vector<prediction> all = predict(std::vector{measured(2)});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].model_case, of_ranks);
}

TEST(Contention, IsNotKnownWhileATimingIsMissing) {
  results file = measured(2);
  std::erase_if(file.rows, [](const measurement& row) {
    return row.name.model_case.contended() && row.name.pass == "bwd_weights";
  });
  EXPECT_THAT(contentions(std::vector{file}), IsEmpty());
  EXPECT_THAT(contentions(std::vector{measured(2)}, {.models = {}, .cache = "model"}), IsEmpty());
}

TEST(Contention, IncludesWaitingForAProcessor) {
  results file = measured(1);
  for (measurement& row : file.rows) {
    if (row.name.model_case.contended()) row.counters["mean_s"] = 3 * row.seconds;
  }
  EXPECT_NEAR(factors_of({file}).usual.computing, 3, 1e-9);
}

/// The same file with all-reduces that take `alone` seconds alone and `beside` seconds overlapped.
results with_reductions(results file, double alone, double beside) {
  for (measurement& row : file.rows) {
    if (!row.name.model_case.contended()) continue;
    row.counters["reduction_alone_s"] = alone;
    row.counters["reduction_s"] = beside;
  }
  return file;
}

TEST(Contention, SlowsSendingToo) {
  const std::vector<results> files{with_reductions(measured(2), 0.5, 1.5)};
  const slowdowns usual = factors_of(files).usual;
  EXPECT_NEAR(usual.sending, 3, 1e-9);
  EXPECT_NEAR(usual.computing, 1.6, 1e-9);
  EXPECT_THAT(text(contentions(files)), mentions("1.600", "3.000"));
  json::value result;
  add_contentions(result, contentions(files));
  EXPECT_NEAR(result.at("contentions").at(0).at("sending").at("ratio").get<double>(), 3, 1e-9);
}

/// The same file from a machine that is `times` as fast.
results at_speed(results file, double times, const std::string& name) {
  for (measurement& row : file.rows) row.seconds /= times;
  file.file = name;
  return file;
}

TEST(Contention, OfSeveralFilesIsTheGeometricMean) {
  results slow = at_speed(measured(2), 0.1, "slow.json");
  for (measurement& row : slow.rows) {
    if (!row.name.model_case.contended()) row.counters["disturbed"] = 1;
  }
  const std::vector<results> files{measured(2), slow};
  EXPECT_NEAR(factors_of(files).usual.computing, 1.6, 1e-9) << "rounds are compared within a file";
  EXPECT_THAT(contentions(files).at(0).files, ElementsAre("r.json", "slow.json"));
  EXPECT_NEAR(contentions(files).at(0).disturbed, 0.5, 1e-9);
  EXPECT_THAT(text(contentions(files)), mentions("50 %"));
  const slowdown_interval apart = factors_of({measured(2), measured(3)});
  EXPECT_NEAR(apart.usual.computing, std::sqrt(1.6 * 2.2), 1e-9);
  EXPECT_LT(apart.low.computing, 1.6);
  EXPECT_GT(apart.high.computing, 2.2);
  EXPECT_EQ(factors_of({with_reductions(measured(2), 1, 3), measured(2)}).high.sending, 1)
      << "the rows of one file lack the counters";
}

TEST(Contention, IsOfTheChosenPhase) {
  const std::vector<results> files{measured(2)};
  EXPECT_THAT(contentions(files, {.models = {}, .phase = "inference"}), IsEmpty());
  EXPECT_THAT(contentions(files, {.models = {}, .phase = "training"}), SizeIs(1));
}

TEST(Contention, IsAtLeastOneInPredictions) {
  const std::vector<measured_contention> found = contentions(std::vector{measured(0.9)});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_LT(found[0].factors.usual.computing, 1);
  EXPECT_EQ(at_least_one(found[0].factors).usual.computing, 1);
}

TEST(Contention, IsOfTheChosenModels) {
  const std::vector<results> files{measured(2)};
  EXPECT_THAT(contentions(files, {.models = {"net"}}), SizeIs(1));
  EXPECT_THROW(static_cast<void>(contentions(files, {.models = {"unheard-of"}})), nothing_matched);
  results both = measured(2);
  case_name other = of_ranks;
  other.model = "other";
  const std::vector<result::planned> step = both.manifest[of_ranks];
  both.manifest[other] = step;
  EXPECT_THAT(contentions(std::vector{both}), SizeIs(2))
      << "rows serve all cases with the same ops";
  const auto of_other = contentions(std::vector{both}, {.models = {"other"}});
  ASSERT_THAT(of_other, SizeIs(1));
  EXPECT_EQ(of_other[0].model_case.model, "other");
}

TEST(Contention, HoldsForOneRankUnderTheSameConditions) {
  const measured_contention of{of_ranks, 2, "x", {}, {}};
  const auto with = [](const char* parameter, const char* value) {
    case_name one = of_ranks;
    one.parameters.erase("ranks");
    one.parameters[parameter] = value;
    return one;
  };
  EXPECT_TRUE(of.holds_for(with("threads", "2"), 2, "x"));
  EXPECT_FALSE(of.holds_for(with("threads", "1"), 1, "x")) << "threads";
  EXPECT_FALSE(of.holds_for(with("threads", "2"), 2, "y")) << "another device";
  EXPECT_FALSE(of.holds_for(with("layout", "any"), 2, "x"));
}

}  // namespace analysis_contention_test
}  // namespace layerbench::analysis
