// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/predict/predictor.hpp>

#include "support/temporary_directory.hpp"

namespace layerbench::predict {
namespace {

using result::case_name;
using result::measurement;
using result::results;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const case_name net{"reference", "f32", "net", 4, {}};

/// The rounds of one row of `owner` that takes `seconds`.
std::vector<measurement> rounds(const case_name& owner, const std::string& layer,
                                const std::string& key, const std::vector<double>& seconds) {
  std::vector<measurement> rows;
  for (const double each : seconds) {
    measurement row;
    row.name = {owner, "conv", "fwd", layer, "hot"};
    row.label.key = key;
    row.round = static_cast<std::int64_t>(rows.size());
    row.seconds = each;
    rows.push_back(row);
  }
  return rows;
}

/// A file of one machine: what is planned for `net`, a times 2 and b times 1, and these rows.
results file_with(const std::vector<std::vector<measurement>>& rows) {
  results file;
  file.file = "r.json";
  file.context = {{"device", "x"}, {"threads", "3"}};
  file.manifest[net] = {{"a", "conv", "fwd", "k:1", 2}, {"b", "conv", "fwd", "k:2", 1}};
  for (const auto& each : rows) file.rows.insert(file.rows.end(), each.begin(), each.end());
  return file;
}

prediction only(const std::vector<results>& files, const options& chosen = {}) {
  const std::vector<prediction> all = predict(files, chosen);
  EXPECT_THAT(all, SizeIs(1));
  return all.at(0);
}

TEST(Predict, AddsUpMediansTimesCounts) {
  const prediction p = only(
      {file_with({rounds(net, "a", "k:1", {1, 3, 2}), rounds(net, "b", "k:2", {10, 20, 30})})});
  ASSERT_TRUE(p.step);
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2 + 20);
  EXPECT_EQ(p.step->kind, interval_kind::range);
  EXPECT_DOUBLE_EQ(p.step->low, 2 * 1 + 10);
  EXPECT_DOUBLE_EQ(p.step->high, 2 * 2 + 30);
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

TEST(Predict, HasNoIntervalForOneRound) {
  const prediction p =
      only({file_with({rounds(net, "a", "k:1", {1.5}), rounds(net, "b", "k:2", {0.1})})});
  EXPECT_EQ(p.step->low, p.step->seconds);
  EXPECT_EQ(p.step->high, p.step->seconds);
  EXPECT_EQ(p.step->kind, interval_kind::none);
  EXPECT_EQ(p.rounds, 1);
}

TEST(Predict, HasAnIntervalFromFiveRoundsOn) {
  const std::vector<double> drift{10, 11, 12, 13, 14};
  const results file = file_with({rounds(net, "a", "k:1", drift), rounds(net, "b", "k:2", drift)});
  const prediction p = only({file});
  EXPECT_EQ(p.step->kind, interval_kind::bootstrap);
  EXPECT_DOUBLE_EQ(p.step->seconds, 3 * 12);
  EXPECT_GE(p.step->low, 3 * 10);
  EXPECT_LT(p.step->low, 3 * 12);
  EXPECT_LE(p.step->high, 3 * 14);
  EXPECT_GT(p.step->high, 3 * 12);
  EXPECT_EQ(only({file}).step->low, p.step->low) << "not the same draws";
}

TEST(Predict, SaysWhetherMeasuringWasInterrupted) {
  results file = file_with({rounds(net, "a", "k:1", {1}), rounds(net, "b", "k:2", {1})});
  file.context["interrupted"] = "0";
  EXPECT_FALSE(only({file}).interrupted);
  results stopped = file;
  stopped.context["interrupted"] = "1";
  EXPECT_TRUE(only({file, stopped}).interrupted);
}

TEST(Predict, KeepsTheSumOfMediansInsideItsInterval) {
  results file =
      file_with({rounds(net, "a", "k:1", {1, 9, 2}), rounds(net, "b", "k:2", {18, 2, 16})});
  const prediction p = only({file});  // every round takes 20, the medians 2 * 2 + 16
  EXPECT_LE(p.step->low, p.step->seconds);
  EXPECT_GE(p.step->high, p.step->seconds);
}

TEST(Predict, ComparesOnlyRoundsThatAllLayersHave) {
  const prediction p =
      only({file_with({rounds(net, "a", "k:1", {1, 1, 1, 100}), rounds(net, "b", "k:2", {1, 1})})});
  EXPECT_EQ(p.rounds, 2);
  EXPECT_DOUBLE_EQ(p.step->high, 3);
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

TEST(Predict, TakesAFailedRowForMissing) {
  results file = file_with({rounds(net, "a", "k:1", {1}), rounds(net, "b", "k:2", {1})});
  file.rows.back().error = "unsupported";
  EXPECT_THAT(only({file}).missing, ElementsAre("b"));
}

TEST(Predict, UsesRowsOfOneCacheState) {
  results file = file_with({rounds(net, "a", "k:1", {1}), rounds(net, "b", "k:2", {1})});
  file.rows.back().name.cache = "cold";
  EXPECT_THAT(only({file}).missing, ElementsAre("b"));
}

TEST(Predict, ServesAModelFromAnothersRow) {
  case_name other = net;
  other.model = "other";
  other.batch = 9;  // the sizes are in the key
  const prediction p =
      only({file_with({rounds(net, "a", "k:1", {1}), rounds(other, "z", "k:2", {5})})});
  EXPECT_DOUBLE_EQ(p.step->seconds, 7);
}

TEST(Predict, TakesACasesOwnRowsFirst) {
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

TEST(Predict, NeverServesAcrossThreadsOrTypes) {
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
  EXPECT_DOUBLE_EQ(p.step->low, 12);
  EXPECT_DOUBLE_EQ(p.step->high, 26);
  EXPECT_THAT(p.files, SizeIs(2));
}

TEST(Predict, AppendsFurtherRounds) {
  const results first = file_with({rounds(net, "a", "k:1", {1}), rounds(net, "b", "k:2", {1})});
  const results second =
      file_with({rounds(net, "a", "k:1", {3, 8}), rounds(net, "b", "k:2", {2, 2})});
  const prediction p = only({first, second});
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 3 + 2);
  EXPECT_EQ(p.rounds, 3);
  EXPECT_DOUBLE_EQ(p.step->low, 3);
  EXPECT_DOUBLE_EQ(p.step->high, 18);
}

TEST(Predict, KeepsRoundsThatCarryTheSameNumber) {
  results file = file_with({rounds(net, "a", "k:1", {1, 2, 9}), rounds(net, "b", "k:2", {1})});
  for (measurement& row : file.rows) row.round = 0;
  EXPECT_DOUBLE_EQ(only({file}).step->seconds, 2 * 2 + 1);
}

TEST(Predict, KeepsFilesOfDifferingContextApart) {
  const results here = file_with({rounds(net, "a", "k:1", {1}), rounds(net, "b", "k:2", {1})});
  results there = file_with({rounds(net, "a", "k:1", {9})});
  there.context["device"] = "y";
  there.context["threads"] = "many";
  const std::vector<prediction> all = predict(std::vector{here, there});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_DOUBLE_EQ(all[0].step->seconds, 3);
  EXPECT_FALSE(all[1].step);
  EXPECT_EQ(all[1].threads, 0);
}

TEST(Predict, BelievesTheManifestThatKnowsMost) {
  const results plain = file_with({rounds(net, "a", "k:1", {1}), rounds(net, "b", "k:2", {1})});
  results knowing = plain;
  knowing.manifest[net].push_back({"a_src", "reorder", "fwd", "r:1", 1, true});
  for (const auto& files : {std::vector{plain, knowing}, std::vector{knowing, plain}}) {
    EXPECT_THAT(only(files).missing, ElementsAre("a_src"));
  }
}

TEST(Predict, TakesTheThreadsOfTheCaseFirst) {
  results file = file_with({});
  file.manifest.clear();
  case_name two = net;
  two.parameters["threads"] = "2";
  file.manifest[two] = {{"a", "conv", "fwd", "k:1", 1}};
  EXPECT_EQ(only({file}).threads, 2);
}

TEST(Predict, RefusesAFileOfAggregates) {
  results file = file_with({});
  file.aggregates = 3;
  try {
    static_cast<void>(only({file}));
    ADD_FAILURE() << "was accepted";
  } catch (const bad_input& slip) {
    EXPECT_THAT(slip.what(), ::testing::HasSubstr("--benchmark_report_aggregates_only"));
  }
}

TEST(Predict, KeepsTheOrderOfTheManifestOrOfTheChoice) {
  results file = file_with({rounds(net, "a", "k:1", {1})});
  case_name other = net;
  other.model = "an_earlier_letter";
  file.manifest[other] = {{"a", "conv", "fwd", "k:1", 1}};
  const auto names = [&](const options& chosen) {
    std::vector<std::string> models;
    for (const prediction& each : predict(std::vector{file}, chosen)) {
      models.push_back(each.owner.model);
    }
    return models;
  };
  EXPECT_THAT(names({}), ElementsAre("net", "an_earlier_letter"));
  EXPECT_THAT(names({.models = {"an_earlier_letter", "net", "net"}}),
              ElementsAre("an_earlier_letter", "net"));
}

TEST(Predict, IsOfTheChosenModelsOnly) {
  results file = file_with({rounds(net, "a", "k:1", {1})});
  case_name other = net;
  other.model = "other";
  file.manifest[other] = {{"a", "conv", "fwd", "k:1", 1}};
  EXPECT_EQ(only({file}, {.models = {"other"}}).owner.model, "other");
  EXPECT_THAT(predict(std::vector{file}), SizeIs(2));
}

TEST(Predict, SaysWhichCasesThereAreWhenNoneMatches) {
  try {
    static_cast<void>(predict(std::vector{file_with({})}, {.models = {"nothing"}}));
    ADD_FAILURE() << "nothing matches";
  } catch (const nothing_matched& slip) {
    EXPECT_THAT(slip.what(), ::testing::HasSubstr(net.text()));
  }
  EXPECT_THROW(static_cast<void>(predict(std::vector<results>(1))), nothing_matched);
}

/// Two layers of the same work, at any batch.
constexpr const char* new_net = R"({"name": "new_net", "parameters": {"batch": 1}, "layers": [
    {"name": "r1", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 8]}},
    {"name": "r2", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 8]}}]})";

TEST(Predict, TakesTheStepOfAnUnplannedModelFromItsShapeFile) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("new.json", new_net).string();
  results file = file_with({rounds(net, "a", "kind:relu,dims:4x8", {1, 2, 3})});
  for (measurement& row : file.rows) row.name.op = "activation";
  const prediction p = only({file}, {.models = {path}});
  EXPECT_TRUE(p.derived);
  EXPECT_EQ(p.owner.text(), "inference/reference/f32/new_net/batch:4");
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2);
  EXPECT_EQ(p.layers.at(0).count, 2);
}

TEST(Predict, KnowsAShapeFilesModelByTheManifestOfTheSameWork) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("any.json", new_net).string();
  results file = file_with({rounds(net, "a", "kind:relu,dims:4x8", {1})});
  for (measurement& row : file.rows) row.name.op = "activation";
  case_name known = net;
  known.model = "new_net";
  const result::planned relu{"r1", "activation", "fwd", "kind:relu,dims:4x8", 2};
  file.manifest[known] = {relu, {"r1_src", "reorder", "fwd", "r:1", 1, true}};
  const prediction same = only({file}, {.models = {path}});
  EXPECT_FALSE(same.derived);
  EXPECT_THAT(same.missing, ElementsAre("r1_src"));
  file.manifest[known].front().count = 3;  // the file was changed since
  const prediction changed = only({file}, {.models = {path}});
  EXPECT_TRUE(changed.derived);
  EXPECT_THAT(changed.missing, IsEmpty());
}

}  // namespace
}  // namespace layerbench::predict
