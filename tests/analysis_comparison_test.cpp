// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/comparison.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_comparison_test {

using result::measurement;
using result::results;
using ::testing::ElementsAre;
using testing::file_of_a_and_b;
using testing::file_with;
using testing::in_state;
using ::testing::IsEmpty;
using testing::mentions;
using testing::net;
using testing::rounds;
using ::testing::SizeIs;

comparison compare_one(const results& old, const results& now,
                       const comparison_options& chosen = {}) {
  return compare(std::vector{old}, std::vector{now}, chosen);
}

/// Six rounds around `seconds`.
std::vector<double> around(double seconds) {
  std::vector<double> all;
  for (const double value : {-1., 1., 0., 0.5, -0.5, 0.}) {
    all.push_back(seconds * (1 + value / 200));
  }
  return all;
}

/// A file with six rounds around `a` seconds for layer a, which a step has twice, and around `b`.
results file_of(double a, double b) { return file_of_a_and_b(around(a), around(b)); }

TEST(Compare, ComparesRowsOfTheSameIdentity) {
  const comparison all = compare_one(file_of(1, 10), file_of(1.2, 10));
  ASSERT_THAT(all.layers, SizeIs(2));
  EXPECT_EQ(all.layers[0].row.id, "conv/fwd/reference/f32/k:1/hot/");
  EXPECT_EQ(all.layers[0].row.name, "conv/fwd/reference/f32/net/a/batch:4/cache:hot");
  EXPECT_DOUBLE_EQ(all.layers[0].ratio.value(), 1.2);
  EXPECT_EQ(all.layers[0].verdict, verdict::slower);
  EXPECT_EQ(all.layers[1].verdict, verdict::same);
  EXPECT_THAT(all.only_old, IsEmpty());
  EXPECT_THAT(all.only_new, IsEmpty());
}

TEST(Compare, ComparesRowsMeasuredForOtherModels) {
  results other = file_of(1, 10);
  for (measurement& row : other.rows) row.name.model_case.model = "other";
  other.manifest.clear();
  const comparison all = compare_one(file_of(1, 10), other);
  EXPECT_THAT(all.layers, SizeIs(2));
  EXPECT_THAT(all.models, IsEmpty());
  EXPECT_THAT(all.left_out.at(0).reason, mentions("old"));
  EXPECT_FALSE(all.left_out.at(0).incomplete);
}

/// The same file with the number of threads in its names.
results on_threads(const std::string& count, results file) {
  for (measurement& row : file.rows) row.name.model_case.parameters["threads"] = count;
  for (auto& [model_case, step] : file.manifest) model_case.parameters["threads"] = count;
  return file;
}

TEST(Compare, ComparesNumbersOfThreads) {
  const results one = on_threads("1", file_of(1, 10));
  const results usual = file_of(0.5, 6);
  const comparison all = compare_one(one, usual);
  ASSERT_THAT(all.layers, SizeIs(2));
  EXPECT_EQ(all.layers[0].row.name, "conv/fwd/reference/f32/net/a/batch:4/cache:hot");
  EXPECT_DOUBLE_EQ(all.layers[0].ratio.value(), 0.5);
  EXPECT_THAT(all.difference.fields, ElementsAre("threads"));
  EXPECT_EQ(all.difference.dimension, compared_dimension::settings);
  ASSERT_THAT(all.models, SizeIs(1));
  EXPECT_EQ(all.models[0].old_threads, 1);
  EXPECT_EQ(all.models[0].new_threads, 3);
  const comparison turned = compare_one(usual, one);
  EXPECT_DOUBLE_EQ(turned.layers.at(0).ratio.value(), 2);
  EXPECT_EQ(turned.models.at(0).old_threads, 3);
}

TEST(Compare, HasTheDisturbedShareOfEachSide) {
  results loaded = file_of(1, 10);
  for (measurement& row : loaded.rows) row.counters["disturbed"] = row.round < 3 ? 1 : 0;
  const comparison all = compare_one(file_of(1, 10), loaded);
  EXPECT_EQ(all.old_disturbed, 0);
  EXPECT_EQ(all.new_disturbed, 0.5);
}

TEST(Compare, TakesThreadsFromNamesOrContexts) {
  const comparison all = compare_one(on_threads("3", file_of(1, 10)), file_of(1, 10));
  EXPECT_THAT(all.layers, SizeIs(2));
  EXPECT_THAT(all.difference.fields, IsEmpty());
}

TEST(Compare, MixesNoNumbersOfThreads) {
  results several = on_threads("1", file_of(1, 10));
  const results usual = file_of(0.5, 6);
  several.rows.insert(several.rows.end(), usual.rows.begin(), usual.rows.end());
  const comparison all = compare_one(several, usual);
  EXPECT_THAT(all.layers, SizeIs(2));
  EXPECT_EQ(all.layers[0].ratio.value(), 1) << "those of the same number";
  EXPECT_THAT(all.only_old, SizeIs(2));
}

TEST(Compare, PredictsTheStepsOfBothSides) {
  const comparison all = compare_one(file_of(1, 10), file_of(1.5, 8));
  ASSERT_THAT(all.models, SizeIs(1));
  const compared_model& model = all.models[0];
  EXPECT_EQ(model.model_case, net);
  EXPECT_EQ(model.cache, "hot");
  EXPECT_EQ(model.old_threads, 3);
  EXPECT_DOUBLE_EQ(model.ratio.old_seconds, 12);
  EXPECT_DOUBLE_EQ(model.ratio.new_seconds, 11);
  EXPECT_EQ(model.verdict, verdict::faster);
  // b has 2 of 3 seconds of change, and so more than half.
  ASSERT_THAT(model.top_contributors, SizeIs(1));
  EXPECT_EQ(model.top_contributors[0].name, "b");
  EXPECT_DOUBLE_EQ(model.top_contributors[0].change(), -2);
  EXPECT_DOUBLE_EQ(model.top_contributors[0].share, 2 / 3.);
}

TEST(Compare, HasNoTopContributorsWhereNothingChanged) {
  EXPECT_THAT(compare_one(file_of(1, 10), file_of(1.001, 10)).models.at(0).top_contributors,
              IsEmpty());
  EXPECT_THAT(compare_one(file_of(1, 10), file_of(1, 10)).models.at(0).top_contributors, IsEmpty());
}

TEST(Compare, TakesCacheModelWhereBothSidesHaveIt) {
  const auto with_model_rows = [](double a, double b) {
    results file = file_of(1, 10);
    for (const auto& [layer, key, seconds] :
         {std::tuple{"a", "k:1", a}, std::tuple{"b", "k:2", b}}) {
      const auto rows = in_state(rounds(net, layer, key, around(seconds)), "s");
      file.rows.insert(file.rows.end(), rows.begin(), rows.end());
    }
    for (result::planned& planned : file.manifest[net]) planned.state = "s";
    return file;
  };
  const comparison both = compare_one(with_model_rows(2, 12), with_model_rows(3, 12));
  EXPECT_EQ(both.models.at(0).cache, "model");
  EXPECT_DOUBLE_EQ(both.models.at(0).ratio.value(), 18 / 16.);
  EXPECT_THAT(both.layers, SizeIs(4));
  const comparison one = compare_one(file_of(1, 10), with_model_rows(3, 12));
  EXPECT_EQ(one.models.at(0).cache, "hot");
  EXPECT_DOUBLE_EQ(one.models.at(0).ratio.value(), 1);
  EXPECT_THAT(one.only_new, SizeIs(2));
}

TEST(Compare, AddsUpReordersInsertedOnOneSide) {
  results now = file_of(1, 10);
  now.manifest[net].push_back({"b_reorder", "conv", "fwd", "k:9", 1, true});
  const auto inserted = rounds(net, "b_reorder", "k:9", around(4));
  now.rows.insert(now.rows.end(), inserted.begin(), inserted.end());
  const comparison all = compare_one(file_of(1, 10), now);
  EXPECT_DOUBLE_EQ(all.models.at(0).ratio.value(), 16 / 12.);
  EXPECT_EQ(all.models.at(0).top_contributors.at(0).name, "b_reorder");
  EXPECT_EQ(all.models.at(0).top_contributors.at(0).old_seconds, 0);
  EXPECT_EQ(all.only_new.at(0).name, "conv/fwd/reference/f32/net/b_reorder/batch:4/cache:hot");
}

TEST(Compare, ListsWhatOnlyOneSideHas) {
  const results old = file_of_a_and_b(around(1), around(10));
  results now = file_with({rounds(net, "a", "k:1", around(1)), rounds(net, "c", "k:3", around(1))});
  measurement failed = old.rows.back();
  failed.error = "out of memory";
  now.rows.push_back(failed);
  const comparison all = compare_one(old, now);
  EXPECT_THAT(all.layers, SizeIs(1));
  EXPECT_EQ(all.only_old.at(0).id, "conv/fwd/reference/f32/k:2/hot/");
  EXPECT_EQ(all.only_new.at(0).id, "conv/fwd/reference/f32/k:3/hot/");
  EXPECT_THAT(all.models, IsEmpty());
  EXPECT_THAT(all.left_out.at(0).reason, mentions("new", "b"));
  EXPECT_TRUE(all.left_out.at(0).incomplete);
}

TEST(Compare, LeavesOutCasesIncompleteOnBothSides) {
  const results part = file_with({rounds(net, "a", "k:1", around(1))});
  const comparison all = compare_one(part, part);
  EXPECT_FALSE(all.left_out.at(0).incomplete);
  EXPECT_THAT(all.left_out.at(0).reason, mentions("old", "new", "b"));
}

TEST(Compare, NamesRowsOfEachSideWhereNoneIsOnBoth) {
  results other = file_of(1, 10);
  for (measurement& row : other.rows) row.name.cache = "cold";
  EXPECT_THAT([&] { static_cast<void>(compare_one(file_of(1, 10), other)); },
              ::testing::ThrowsMessage<nothing_matched>(mentions("cache:hot", "cache:cold")));
}

TEST(Compare, RefusesOtherContextsAndRowsWithoutRounds) {
  results other = file_of(1, 10);
  other.context["device"] = "y";
  other.context["onednn_version"] = "4";
  EXPECT_THROW(static_cast<void>(compare_one(file_of(1, 10), other)), bad_input);
  comparison_options chosen;
  chosen.force = true;
  EXPECT_THAT(compare_one(file_of(1, 10), other, chosen).difference.forced,
              ElementsAre("device", "onednn_version"));
  results aggregates = file_of(1, 10);
  aggregates.rows.clear();
  aggregates.aggregates = 2;
  EXPECT_THROW(static_cast<void>(compare_one(file_of(1, 10), aggregates)), bad_input);
}

TEST(Compare, KnowsTheRunOfARowThatNotAllFilesHave) {
  timings measured;
  measured.add(file_with({rounds(net, "b", "k:2", around(1))}));
  measured.add(file_of(1, 10));
  EXPECT_THAT(measured.find("conv/fwd/reference/f32/k:1/hot/", net).value().runs, ElementsAre(1));
  EXPECT_THAT(measured.find("conv/fwd/reference/f32/k:2/hot/", net).value().runs,
              ElementsAre(0, 1));
}

TEST(Compare, TakesEachFileOfASideForARun) {
  const std::vector old{file_of(1, 10), file_of(1.1, 10)};
  const std::vector now{file_of(1.2, 10), file_of(1.1, 10)};
  const comparison all = compare(old, now);
  EXPECT_TRUE(all.has_runs());
  EXPECT_EQ(all.layers.at(0).ratio.old_rounds, 12);
  EXPECT_EQ(all.layers.at(0).verdict, verdict::unclear) << "runs differ by as much";
  EXPECT_FALSE(compare_one(old[0], now[0]).has_runs());
  EXPECT_EQ(compare_one(old[0], now[0]).layers.at(0).verdict, verdict::slower);
}

}  // namespace analysis_comparison_test
}  // namespace layerbench::analysis
