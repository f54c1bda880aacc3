// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::report {
namespace report_comparison_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

result::results golden() {
  return result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/chain_results.json");
}

/// The golden file of another version, in which conv1 takes 1.2 times as long in the model's state;
/// without reorders, but with a row that is new.
result::results slower() {
  result::results file = golden();
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

analysis::comparison compared() {
  return analysis::compare(std::vector{golden()}, std::vector{slower()});
}

analysis::comparison forced() {
  result::results other = slower();
  other.context["device"] = "another CPU";
  analysis::comparison_options chosen;
  chosen.force = true;
  return analysis::compare(std::vector{golden()}, std::vector{other, other}, chosen);
}

std::set<std::string> keys(const json::value& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
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

TEST(ComparisonJson, HasModelsAndWhatDrivesThem) {
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

TEST(ComparisonJson, ListsWhatIsOnOneSide) {
  const json::value all = to_json(compared());
  ASSERT_THAT(all.at("only_old"), SizeIs(1));
  EXPECT_EQ(all.at("only_old").at(0).at("name"),
            "reorder/fwd/reference/f32/tiny/conv1_src_reorder/batch:2/cache:hot");
  ASSERT_THAT(all.at("only_new"), SizeIs(1));
  EXPECT_EQ(all.at("only_new").at(0).at("id"), "conv/fwd/reference/f32/n:9/hot/");
  ASSERT_THAT(all.at("uncompared"), SizeIs(1));
  EXPECT_EQ(all.at("uncompared").at(0).at("case"), "inference/reference/f32/tiny/batch:4");
}

TEST(ComparisonJson, SaysWhatIsComparedAndWhatWasForced) {
  const json::value one = to_json(compared());
  EXPECT_EQ(one.at("across"), "version");
  EXPECT_EQ(one.at("inferred"), true);
  EXPECT_EQ(one.at("differing"), json::value({"layerbench_version"}));
  EXPECT_EQ(one.at("forced"), json::value::array());
  EXPECT_EQ(one.at("margin"), 0.02);
  EXPECT_THAT(one.at("notes").at(0).get<std::string>(), HasSubstr("one run a side"));
  const json::value other = to_json(forced());
  EXPECT_TRUE(other.at("across").is_null());
  EXPECT_EQ(other.at("forced"), json::value({"device", "layerbench_version"}));
  EXPECT_EQ(other.at("new"), json::value({"new.json", "new.json"}));
  ASSERT_THAT(other.at("notes"), SizeIs(1)) << "several runs";
  EXPECT_THAT(other.at("notes").at(0).get<std::string>(), HasSubstr("forced"));
}

TEST(ComparisonText, HasTablesOfModelsAndLayers) {
  const std::string page = text(compared());
  EXPECT_THAT(page,
              AllOf(HasSubstr("\nacross version, as the files differ in nothing else; "
                              "differing: layerbench_version\nnote: one run a side"),
                    HasSubstr("| tiny inference, reference f32, batch 2, 1 thread "),
                    HasSubstr("| 3.10 ms | 3.58 ms |     1.155 | 1.134 to 1.176 | slower "),
                    HasSubstr("conv1 +0.48 ms (100 %)\n"), HasSubstr("batch 2, 1 thread, hot | "),
                    HasSubstr("| unclear, too few rounds |")));
  EXPECT_THAT(page,
              AllOf(HasSubstr("\n| conv/fwd/reference/f32/tiny/conv1/batch:2/cache:model "),
                    HasSubstr("7 layers: 0 faster, 1 slower, 4 same, 2 unclear; the same: "
                              "within 2 %\n"),
                    HasSubstr("only old: 1 row\n  reorder/"), HasSubstr("only new: 1 row\n  conv/"),
                    HasSubstr("not compared: inference/reference/f32/tiny/batch:4: ")));
}

TEST(ComparisonText, SaysOnceWhatBothSidesLoaded) {
  EXPECT_THAT(text(compared()), HasSubstr("\nloaded by both: executable bench_model\n"
                                          "loaded by old: layerbench_version 0.1.0\n"
                                          "loaded by new: layerbench_version 0.2.0\nacross"));
  EXPECT_EQ(to_json(compared()).at("old_loaded"),
            json::value({{"executable", "bench_model"}, {"layerbench_version", "0.1.0"}}));
  const result::results same = golden();
  EXPECT_THAT(text(analysis::compare(std::vector{same}, std::vector{same})),
              AllOf(HasSubstr("executable bench_model, layerbench_version 0.1.0\n"),
                    Not(HasSubstr("loaded by old")), Not(HasSubstr("loaded by new"))));
}

TEST(ComparisonText, SaysThatRunsArePairs) {
  analysis::comparison_options chosen;
  chosen.paired = true;
  const std::vector old{golden(), golden()};
  const std::vector now{slower(), slower()};
  const analysis::comparison all = analysis::compare(old, now, chosen);
  EXPECT_THAT(text(all), HasSubstr("\n2 pairs of runs, measured side by side"));
  EXPECT_EQ(to_json(all).at("paired"), true);
  EXPECT_EQ(to_json(compared()).at("paired"), false);
}

TEST(ComparisonText, MarksWhatIsForced) {
  EXPECT_THAT(text(forced()), AllOf(HasSubstr("\nnote: forced: what is compared also differs in "
                                              "device layerbench_version\n"),
                                    Not(HasSubstr("across")), Not(HasSubstr("one run"))));
}

TEST(ComparisonText, ListsEveryChangeAndAFewOthers) {
  analysis::comparison all = compared();
  analysis::compared_layer changed = all.layers.at(0);
  changed.verdict = analysis::verdict::faster;
  analysis::compared_layer same = changed;
  same.verdict = analysis::verdict::same;
  all.layers.assign(40, same);
  const auto listed = [&] {
    const std::string page = text(all);
    std::size_t rows = 0;
    for (std::size_t at = page.find("\n| conv/"); at != page.npos;
         at = page.find("\n| conv/", at + 1)) {
      ++rows;
    }
    return rows;
  };
  EXPECT_EQ(listed(), 10);
  EXPECT_THAT(text(all), HasSubstr("\n| 30 more "));
  all.layers.insert(all.layers.end(), 35, changed);
  EXPECT_EQ(listed(), 35);
}

TEST(ComparisonCsv, HasOneLineAModelAndALayer) {
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

}  // namespace report_comparison_test
}  // namespace layerbench::report
