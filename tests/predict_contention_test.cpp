// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/predict/contention.hpp>
#include <layerbench/report/prediction_json.hpp>

#include "support/timings.hpp"

namespace layerbench::predict {
namespace predict_contention_test {

using result::case_name;
using result::measurement;
using result::results;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::rounds;
using ::testing::SizeIs;

const case_name joined{"reference", "f32", "net", 4, {{"phase", "training"}, {"ranks", "2"}}};

case_name during(case_name owner) {
  owner.parameters["during"] = "allreduce";
  return owner;
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

/// A forward call, two backward ones and an all-reduce; of the backward ones the first takes
/// `slower` times as long while gradients are sent, and the other one as ever.
results measured(double slower) {
  using enum model::step_part;
  results file;
  file.file = "r.json";
  file.context = {{"device", "x"}, {"threads", "1"}};
  file.manifest[joined] = {{"a", "conv", "fwd", "k:1", 1},
                           {"a", "conv", "bwd_data", "k:1", 1},
                           {"a", "conv", "bwd_weights", "k:1", 2},
                           {"bucket1", "allreduce", "fwd", "bytes:4,ranks:2", 1}};
  for (const std::size_t i : {1U, 2U, 3U}) file.manifest[joined][i].part = backward;
  std::vector<measurement> reduced = rounds(joined, "bucket1", "bytes:4,ranks:2", seven(9));
  for (measurement& row : reduced) row.name.op = "allreduce";
  for (const auto& rows :
       {of_pass(rounds(joined, "a", "k:1", seven(5)), "fwd"),
        of_pass(rounds(joined, "a", "k:1", seven(3)), "bwd_data"),
        of_pass(rounds(joined, "a", "k:1", seven(1)), "bwd_weights"), reduced,
        of_pass(rounds(during(joined), "a", "k:1", seven(3 * slower)), "bwd_data"),
        of_pass(rounds(during(joined), "a", "k:1", seven(1)), "bwd_weights")}) {
    file.rows.insert(file.rows.end(), rows.begin(), rows.end());
  }
  return file;
}

TEST(Contention, IsOfWhatIsComputedInTheBackwardPart) {
  const std::vector<results> files{measured(2)};
  const std::vector<measured_contention> found = contentions(files);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].owner, joined);
  EXPECT_EQ(found[0].threads, 1);
  EXPECT_NEAR(found[0].ratio.value(), (2 * 3 + 2 * 1) / (3 + 2 * 1.), 1e-9);
  EXPECT_LT(found[0].ratio.low, found[0].ratio.value());
  EXPECT_GT(found[0].ratio.high, found[0].ratio.value());
  EXPECT_THAT(report::text(found), HasSubstr("net training, reference f32, batch 4, 1 thread, "
                                             "ranks 2: its backward part takes 1.600 times"));
  const json::value made = report::to_json(predict(files), found);
  EXPECT_EQ(made.at("contentions").at(0).at("case"), joined.text());
  EXPECT_EQ(made.at("contentions").at(0).at("ratio"), found[0].ratio.value());
}

TEST(Contention, IsNoStepOfItsOwn) {
  const std::vector<prediction> all = predict(std::vector{measured(2)});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].owner, joined);
}

TEST(Contention, IsNotKnownWhileATimingIsMissing) {
  results file = measured(2);
  std::erase_if(file.rows, [](const measurement& row) {
    return row.name.owner.contended() && row.name.pass == "bwd_weights";
  });
  EXPECT_THAT(contentions(std::vector{file}), IsEmpty());
  EXPECT_THAT(contentions(std::vector{measured(2)}, {.models = {}, .cache = "model"}), IsEmpty());
}

TEST(Contention, CountsWaitingForAProcessor) {
  results file = measured(1);
  for (measurement& row : file.rows) {
    if (row.name.owner.contended()) row.counters["mean_s"] = 3 * row.seconds;
  }
  EXPECT_NEAR(contentions(std::vector{file}).at(0).ratio.value(), 3, 1e-9);
}

TEST(Contention, IsOfThePhaseThatIsAskedFor) {
  const std::vector<results> files{measured(2)};
  EXPECT_THAT(contentions(files, {.models = {}, .phase = "inference"}), IsEmpty());
  EXPECT_THAT(contentions(files, {.models = {}, .phase = "training"}), SizeIs(1));
}

TEST(Contention, MakesNothingFaster) {
  const std::vector<measured_contention> found = contentions(std::vector{measured(0.9)});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_LT(found[0].ratio.value(), 1);
  EXPECT_EQ(found[0].factor(), 1);
}

TEST(Contention, IsOfTheChosenModels) {
  const std::vector<results> files{measured(2)};
  EXPECT_THAT(contentions(files, {.models = {"net"}}), SizeIs(1));
  EXPECT_THROW(static_cast<void>(contentions(files, {.models = {"unheard-of"}})), nothing_matched);
  results both = measured(2);
  case_name other = joined;
  other.model = "other";
  const std::vector<result::planned> step = both.manifest[joined];
  both.manifest[other] = step;
  EXPECT_THAT(contentions(std::vector{both}), SizeIs(2)) << "rows serve whoever does that work";
  const auto of_other = contentions(std::vector{both}, {.models = {"other"}});
  ASSERT_THAT(of_other, SizeIs(1));
  EXPECT_EQ(of_other[0].owner.model, "other");
}

TEST(Contention, HoldsForOneRankThatRunsAlike) {
  const measured_contention of{joined, 2, "x", {}};
  const auto with = [](const char* parameter, const char* value) {
    case_name one = joined;
    one.parameters.erase("ranks");
    one.parameters[parameter] = value;
    return one;
  };
  EXPECT_TRUE(of.holds_for(with("threads", "2"), 2, "x"));
  EXPECT_FALSE(of.holds_for(with("threads", "1"), 1, "x")) << "threads";
  EXPECT_FALSE(of.holds_for(with("threads", "2"), 2, "y")) << "another device";
  EXPECT_FALSE(of.holds_for(with("layout", "any"), 2, "x"));
}

}  // namespace predict_contention_test
}  // namespace layerbench::predict
