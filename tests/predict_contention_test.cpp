// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
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
using testing::of_op;
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

/// A forward call, two backward ones and, where nothing else goes on, an all-reduce; of the
/// backward part first the one call takes `slower` times as long, and the other one as ever.
results measured(double slower) {
  results file;
  file.file = "r.json";
  file.context = {{"device", "x"}, {"threads", "1"}};
  for (const case_name& owner : {joined, during(joined)}) {
    using enum model::step_part;
    result::manifest& cases = file.manifest;
    cases[owner] = {{"a", "conv", "fwd", "k:1", 1},
                    {"a", "conv", "bwd_data", "k:1", 1},
                    {"a", "conv", "bwd_weights", "k:1", 2}};
    cases[owner][1].part = cases[owner][2].part = backward;
    if (!owner.contended()) {
      cases[owner].push_back({"bucket1", "allreduce", "fwd", "bytes:4,ranks:2", 1});
      cases[owner].back().part = backward;
    }
    const double factor = owner.contended() ? slower : 1;
    for (const auto& rows :
         {of_op(rounds(owner, "a", "k:1", seven(5 * factor * factor)), "conv", "fwd"),
          of_op(rounds(owner, "a", "k:1", seven(3 * factor)), "conv", "bwd_data"),
          of_op(rounds(owner, "a", "k:1", seven(1)), "conv", "bwd_weights"),
          of_op(rounds(owner, "bucket1", "bytes:4,ranks:2", seven(9)), "allreduce", "fwd")}) {
      if (owner.contended() && rows.front().name.op == "allreduce") continue;
      file.rows.insert(file.rows.end(), rows.begin(), rows.end());
    }
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

TEST(Contention, MakesNothingFaster) {
  const std::vector<measured_contention> found = contentions(std::vector{measured(0.9)});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_LT(found[0].ratio.value(), 1);
  EXPECT_EQ(found[0].factor(), 1);
}

TEST(Contention, HoldsForOneRankAndForAsManyAsWereMeasured) {
  const measured_contention of{joined, 2, {}};
  const auto with = [](const char* parameter, const char* value) {
    case_name other = joined;
    other.parameters[parameter] = value;
    return other;
  };
  EXPECT_TRUE(of.holds_for(joined, 2));
  EXPECT_TRUE(of.holds_for(with("ranks", "1"), 2));
  EXPECT_TRUE(of.holds_for(with("threads", "2"), 2));
  EXPECT_FALSE(of.holds_for(joined, 1)) << "threads";
  EXPECT_FALSE(of.holds_for(with("ranks", "3"), 2));
  EXPECT_FALSE(of.holds_for(with("layout", "any"), 2));
}

}  // namespace predict_contention_test
}  // namespace layerbench::predict
