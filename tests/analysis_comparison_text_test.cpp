// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/text.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"

namespace layerbench::analysis {
namespace analysis_comparison_text_test {

using ::testing::AllOf;
using testing::chain_results;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::keys;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// The example file as of another version, in which conv1 takes 1.2 times as long with
/// `cache:model`. It has no hot reorder, and one row more.
result::results slower() {
  result::results file = chain_results();
  file.file = "new.json";
  file.context["layerbench_version"] = "0.2.0";
  std::erase_if(file.rows, [](const result::measurement& row) {
    return row.name.op == "reorder" && row.name.cache == "hot";
  });
  result::measurement added = file.rows.front();
  added.name.layer = "conv9";
  added.label.key = "n:9";
  for (result::measurement& row : file.rows) {
    if (row.name.layer == "conv1" && row.name.cache == "model") row.seconds *= 1.2;
  }
  file.rows.push_back(added);
  return file;
}

comparison compared() { return compare(std::vector{chain_results()}, std::vector{slower()}); }

comparison forced() {
  result::results other = slower();
  other.context["device"] = "another CPU";
  comparison_options chosen;
  chosen.force = true;
  return compare(std::vector{chain_results()}, std::vector{other, other}, chosen);
}

/// The member of `list` whose `name` is this.
json::value named(const json::value& list, const char* name, const std::string& value) {
  const auto found =
      std::ranges::find_if(list, [&](const json::value& item) { return item.at(name) == value; });
  return found == list.end() ? json::value() : *found;
}

TEST(ComparisonJson, IsTheContract) {
  const json::value all = to_json(compared());
  EXPECT_THAT(keys(all), IsSupersetOf({"schema", "layers", "models", "only_old", "only_new"}));
  EXPECT_EQ(all.at("schema"), 1);
  const json::value conv =
      named(all.at("layers"), "name", "conv/fwd/reference/f32/tiny/conv1/batch:2/cache:model");
  EXPECT_THAT(keys(conv), IsSupersetOf({"id", "ratio", "low", "high", "verdict"}));
  EXPECT_EQ(conv.at("id"),
            "conv/fwd/reference/f32/n:2,c:3,h:8,w:8,k:4,r:3,s:3,pad:1/model/weights:4096");
  EXPECT_NEAR(conv.at("ratio"), 1.2, 1e-9);
  // Student's with 10 degrees of freedom: both means are known to 0.577 %.
  EXPECT_NEAR(conv.at("low"), 1.2 * (1 - 2.228 * 0.00816), 2e-4);
  EXPECT_NEAR(conv.at("high"), 1.2 * (1 + 2.228 * 0.00816), 5e-4);
  EXPECT_EQ(conv.at("verdict"), "slower");
  EXPECT_EQ(conv.at("old_rounds"), 6);
  EXPECT_LT(conv.at("p"), 1e-6);
}

TEST(ComparisonJson, HasModelsAndTheirTopContributors) {
  const json::value all = to_json(compared());
  ASSERT_THAT(all.at("models"), SizeIs(2));
  const json::value tiny = named(all.at("models"), "model", "tiny");
  EXPECT_THAT(keys(tiny), IsSupersetOf({"model", "phase", "backend", "dtype", "batch", "ratio",
                                        "low", "high", "verdict", "drivers"}));
  EXPECT_EQ(tiny.at("phase"), "inference");
  EXPECT_EQ(tiny.at("cache"), "model");
  EXPECT_NEAR(tiny.at("ratio"), 3.58 / 3.1, 1e-9);
  EXPECT_EQ(tiny.at("verdict"), "slower");
  ASSERT_THAT(tiny.at("drivers"), SizeIs(1));
  const json::value conv = tiny.at("drivers").at(0);
  EXPECT_EQ(conv.at("name"), "conv1");
  EXPECT_NEAR(conv.at("old_seconds"), 2.4e-3, 1e-12);
  EXPECT_NEAR(conv.at("new_seconds"), 2.88e-3, 1e-12);
  EXPECT_NEAR(conv.at("share"), 1, 1e-9);
  const json::value few = named(all.at("models"), "model", "small");
  EXPECT_EQ(few.at("verdict"), "unclear") << "three rounds";
  EXPECT_TRUE(few.at("p").is_null());
}

TEST(ComparisonJson, ListsRowsAndCasesOfOneSide) {
  const json::value all = to_json(compared());
  ASSERT_THAT(all.at("only_old"), SizeIs(1));
  EXPECT_EQ(all.at("only_old").at(0).at("name"),
            "reorder/fwd/reference/f32/tiny/conv1_src_reorder/batch:2/cache:hot");
  ASSERT_THAT(all.at("only_new"), SizeIs(1));
  EXPECT_EQ(all.at("only_new").at(0).at("id"), "conv/fwd/reference/f32/n:9/hot/");
  ASSERT_THAT(all.at("uncompared"), SizeIs(1));
  EXPECT_EQ(all.at("uncompared").at(0).at("case"), "inference/reference/f32/tiny/batch:4");
}

TEST(ComparisonJson, HasTheComparedDimensionAndWhatIsForced) {
  const json::value one = to_json(compared());
  EXPECT_EQ(one.at("across"), "version");
  EXPECT_EQ(one.at("inferred"), true);
  EXPECT_EQ(one.at("differing"), json::value({"layerbench_version"}));
  EXPECT_EQ(one.at("forced"), json::value::array());
  EXPECT_EQ(one.at("margin"), 0.02);
  ASSERT_THAT(one.at("notes"), SizeIs(1)) << "a single run on each side";
  EXPECT_THAT(one.at("notes").at(0).get<std::string>(), HasSubstr("run"));
  const json::value other = to_json(forced());
  EXPECT_TRUE(other.at("across").is_null());
  EXPECT_EQ(other.at("forced"), json::value({"device", "layerbench_version"}));
  EXPECT_EQ(other.at("new"), json::value({"new.json", "new.json"}));
  ASSERT_THAT(other.at("notes"), SizeIs(1)) << "several runs";
  EXPECT_THAT(other.at("notes").at(0).get<std::string>(),
              mentions("forced", "device", "layerbench_version"));
}

TEST(ComparisonText, HasTablesOfModelsAndLayers) {
  const comparison all = compared();
  const table models = models_table(all);
  EXPECT_THAT(text(all, {.wide = true}), HasSubstr(text(layers_table(all))));
  EXPECT_THAT(text(all), AllOf(HasSubstr(text(models)), HasSubstr("layers: */fwd/reference/f32/"),
                               HasSubstr("\n| conv/tiny/conv1/batch:2/cache:model ")));
  ASSERT_THAT(models.rows, SizeIs(2));
  EXPECT_THAT(models.rows[0],
              ElementsAre(mentions("tiny", "inference", "reference", "f32", "2", "1"), "3.10 ms",
                          "3.58 ms", "1.155", mentions("1.134", "1.176"), "slower"));
  EXPECT_THAT(models.rows[1].front(), mentions("small", "hot"));
  EXPECT_THAT(models.rows[1].back(), AllOf(StartsWith("unclear"), HasSubstr("rounds")));
  const auto layers = layers_table(all).rows;
  ASSERT_THAT(layers, SizeIs(7));
  EXPECT_EQ(layers[0][0], "conv/fwd/reference/f32/tiny/conv1/batch:2/cache:model");
  EXPECT_EQ(layers[0].back(), "slower");
}

TEST(ComparisonText, NamesTopContributors) {
  const std::string line = top_contributors_text(compared());
  EXPECT_THAT(line, mentions("tiny", "conv1", "+0.48 ms", "100 %"));
  EXPECT_THAT(text(compared()), HasSubstr(line));
}

TEST(ComparisonText, CountsVerdictsAndListsWhatIsOnOneSide) {
  const std::string end = remarks(compared());
  EXPECT_THAT(end, mentions("7", "0 faster", "1 slower", "4 same", "2 unclear", "2 %"));
  const std::string old = "reorder/fwd/reference/f32/tiny/conv1_src_reorder/batch:2/cache:hot";
  const std::string now = "conv/fwd/reference/f32/tiny/conv9/batch:2/cache:hot";
  EXPECT_THAT(end, mentions(old, now, "inference/reference/f32/tiny/batch:4"));
  EXPECT_LT(end.find(old), end.find(now)) << "the old side first";
  EXPECT_THAT(text(compared()), ::testing::EndsWith(end));
}

/// How often `part` is in `whole`.
std::size_t occurrences(const std::string& part, const std::string& whole) {
  std::size_t count = 0;
  for (std::size_t at = whole.find(part); at != whole.npos; at = whole.find(part, at + 1)) ++count;
  return count;
}

TEST(ComparisonText, NamesTheComparedDimensionAndEachLoadedVersionOnce) {
  const std::string header = comparison_header(compared());
  EXPECT_THAT(header, mentions(testing::chain_file, "new.json", "across", "version"));
  EXPECT_EQ(occurrences("bench_model", header), 1U) << "which both sides loaded";
  EXPECT_EQ(occurrences("0.1.0", header), 1U);
  EXPECT_EQ(occurrences("0.2.0", header), 1U);
  EXPECT_LT(header.find("0.1.0"), header.find("0.2.0")) << "the old side first";
  EXPECT_THAT(text(compared()), StartsWith(header));
  EXPECT_EQ(to_json(compared()).at("old_loaded"),
            json::value({{"executable", "bench_model"}, {"layerbench_version", "0.1.0"}}));
  const result::results same = chain_results();
  EXPECT_EQ(occurrences("0.1.0", comparison_header(compare(std::vector{same}, std::vector{same}))),
            1U);
}

TEST(ComparisonText, CountsPairs) {
  comparison_options chosen;
  chosen.paired = true;
  const std::vector old{chain_results(), chain_results()};
  const std::vector now{slower(), slower()};
  const comparison all = compare(old, now, chosen);
  EXPECT_THAT(text(all), mentions("2 pairs"));
  EXPECT_EQ(to_json(all).at("paired"), true);
  EXPECT_THAT(text(compared()), Not(HasSubstr("pairs")));
  EXPECT_EQ(to_json(compared()).at("paired"), false);
}

TEST(ComparisonText, MarksWhatIsForced) {
  EXPECT_THAT(comparison_header(forced()),
              AllOf(mentions("forced", "device", "layerbench_version"), Not(HasSubstr("across"))));
  EXPECT_THAT(comparison_header(compared()), Not(HasSubstr("forced")));
}

TEST(ComparisonText, ListsLayersAsAskedFor) {
  const comparison all = compared();
  const auto rows = [&](const layers_shown& how) { return layers_table(all, how).rows; };
  EXPECT_THAT(rows({.top = 2}), SizeIs(2 + 1));
  EXPECT_THAT(rows({.top = 2}).back().front(), mentions("5"));
  EXPECT_THAT(rows({.top = 100}), SizeIs(7));
  const auto named = rows({.order = comparison_order::name});
  const auto name = [](const std::vector<std::string>& row) { return row.front(); };
  EXPECT_TRUE(std::ranges::is_sorted(named, {}, name));
  std::vector<double> ratios;
  for (const auto& row : rows({.order = comparison_order::ratio})) {
    ratios.push_back(std::stod(row.at(3)));
  }
  EXPECT_TRUE(std::ranges::is_sorted(ratios, std::ranges::greater{}));
  EXPECT_EQ(ratios.size(), all.layers.size());
}

TEST(ComparisonText, ListsEveryChangeAndAFewOthers) {
  comparison all = compared();
  compared_layer changed = all.layers.at(0);
  changed.verdict = verdict::faster;
  compared_layer same = changed;
  same.verdict = verdict::same;
  all.layers.assign(40, same);
  const auto few = layers_table(all).rows;
  ASSERT_THAT(few, SizeIs(10 + 1));
  EXPECT_EQ(few[9].back(), "same");
  EXPECT_THAT(few.back(), ElementsAre(mentions("30"), "", "", "", "", ""));
  all.layers.insert(all.layers.end(), 35, changed);
  const auto many = layers_table(all).rows;
  ASSERT_THAT(many, SizeIs(35 + 1));
  EXPECT_EQ(many[34].back(), "faster");
  EXPECT_THAT(many.back().front(), mentions("40"));
}

TEST(ComparisonCsv, HasOneRowPerModelAndLayer) {
  const table t = records(forced());
  ASSERT_THAT(t.rows, SizeIs(2 + 7 + 2));
  EXPECT_THAT(t.rows, Each(SizeIs(t.columns.size())));
  EXPECT_EQ(t.columns.back().title, "forced");
  std::multiset<std::string> kinds;
  for (const auto& row : t.rows) {
    kinds.insert(row.front());
    EXPECT_EQ(row.back(), "device layerbench_version");
  }
  EXPECT_EQ(kinds.count("model"), 2);
  EXPECT_EQ(kinds.count("layer"), 7);
  EXPECT_EQ(kinds.count("only_old"), 1);
  EXPECT_EQ(kinds.count("only_new"), 1);
  EXPECT_EQ(t.rows[0][1], "inference/reference/f32/tiny/batch:2");
  EXPECT_NEAR(std::stod(t.rows[0][3]), 3.58 / 3.1, 1e-9);
  EXPECT_EQ(t.rows[0][6], "slower");
  EXPECT_EQ(t.rows[1][7], "") << "three rounds have no p";
  EXPECT_EQ(t.rows.back()[3], "");
}

}  // namespace analysis_comparison_text_test
}  // namespace layerbench::analysis
