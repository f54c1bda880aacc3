// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::report {
namespace report_prediction_test {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

/// What the golden file predicts, in its order: tiny at batch 2, small, and tiny at batch 4, which
/// lacks layers.
std::vector<analysis::prediction> golden(bool allow_partial = false) {
  const std::vector files{result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/tiny_results.json")};
  return analysis::predict(files, {.models = {}, .allow_partial = allow_partial});
}

std::set<std::string> keys(const json::value& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
}

TEST(PredictionText, SaysHowFastAndByWhichMethod) {
  const std::string page = text(std::vector{golden().at(0)}, 10);
  EXPECT_THAT(page, HasSubstr("tiny inference, reference f32, batch 2, 1 thread\n"));
  EXPECT_THAT(page, HasSubstr("666.7 images/s, 3.000 ms a step (rounds between 2.800 and 3.190: "
                              "too few for a 95 % interval), from 3 rounds\n"));
  EXPECT_THAT(page, HasSubstr("naive hot sum"));
  EXPECT_THAT(page, HasSubstr("lower bound"));
  EXPECT_THAT(
      page,
      HasSubstr("| conv1 | conv       |     2 |     1.10 ms | 73.3 % |                2.112 |"));
  EXPECT_THAT(page, Not(HasSubstr("coverage")));
}

TEST(PredictionText, ListsTheHeaviestLayersFirstAndSaysWhatItCut) {
  const std::string page = text(std::vector{golden().at(0)}, 2);
  EXPECT_LT(page.find("| conv1"), page.find("| fc"));
  EXPECT_THAT(page, Not(HasSubstr("| relu1")));
  EXPECT_THAT(page, HasSubstr("| 1 more | "));
  EXPECT_THAT(page, HasSubstr("| 10.0 % |"));
  EXPECT_THAT(text(std::vector{golden().at(0)}, 3), Not(HasSubstr(" more |")));
  EXPECT_THAT(text(std::vector{golden().at(0)}, 0), Not(HasSubstr("| conv1")));
}

TEST(PredictionText, SaysWhereTheTimeGoes) {
  analysis::prediction p = golden().at(0);
  const std::size_t layers = p.layers.size();
  EXPECT_THAT(text(std::vector{p}),
              HasSubstr("  by op: conv 73.3 %, gemm 16.7 %, activation 10.0 %\n"));
  EXPECT_THAT(text(std::vector{p}), Not(HasSubstr("by part")));
  p.configuration.parameters["phase"] = "training";
  p.layers[layers - 1].part = model::step_part::update;
  p.layers[0].pass = "bwd_data";
  EXPECT_THAT(text(std::vector{p}), HasSubstr("  by part: forward "));
  EXPECT_THAT(text(std::vector{p}), HasSubstr("| conv1:bwd_data |"));
}

TEST(PredictionText, HasNoFlopsForLayersThatDoNone) {
  analysis::prediction p = golden().at(0);
  for (analysis::layer_time& layer : p.layers) layer.flops = 0;
  EXPECT_THAT(text(std::vector{p}), HasSubstr("| 73.3 % |                      |\n"));
}

TEST(PredictionText, SaysHowFewRoundsThereAre) {
  analysis::prediction p = golden().at(0);
  p.rounds = 9;
  p.step->kind = analysis::interval_kind::bootstrap;
  EXPECT_THAT(text(std::vector{p}), HasSubstr("ms a step (95 % between 2.800 and 3.190), from 9 "
                                              "rounds\n"));
  p.rounds = 1;
  p.interrupted = true;
  p.step->kind = analysis::interval_kind::none;
  EXPECT_THAT(text(std::vector{p}), HasSubstr("(no interval), from 1 round (interrupted)\n"));
}

TEST(PredictionText, NamesWhatIsMissingAndGivesNoThroughput) {
  const std::string page = text(std::vector{golden().at(2)}, 10);
  EXPECT_THAT(page, HasSubstr("coverage 50.0 %; not measured: conv1 fc"));
  EXPECT_THAT(page, Not(HasSubstr("images/s")));
  EXPECT_THAT(text(std::vector{golden(true).at(2)}, 10),
              HasSubstr("PARTIAL, of the measured layers only: at least 0.6300 ms a step"));
}

TEST(PredictionText, EndsWithASummaryOfSeveral) {
  const std::string page = text(golden(), 10);
  EXPECT_THAT(page, HasSubstr("| model | phase     | backend "));
  EXPECT_THAT(page, HasSubstr("refused"));
  EXPECT_THAT(text(summary(golden())), HasSubstr("naive hot sum"));
}

TEST(PredictionText, NeverSumsUpAPartAsAThroughput) {
  const std::string page = text(summary(golden(true)));
  EXPECT_THAT(page, HasSubstr("|  partial | > 0.6300 |   50.0 % |"));
}

/// tiny on a machine of 10 GFLOP/s: conv1 is at 21 % of that, fc above it, and what relu1 moves is
/// not known.
analysis::prediction limited() {
  analysis::prediction p = golden().at(0);
  p.limits =
      analysis::peaks{"reference", "f32", 1, 10e9, 1e-6, {{"memory", HUGE_VAL, 10e9, 5e9, 8e9}}};
  for (analysis::layer_time& layer : p.layers) {
    if (layer.op == "activation") continue;
    layer.traffic = {{1000, 0, false}};
    if (layer.op == "gemm") layer.flops = 6e6;
    layer.roofs = analysis::roofs_of(*layer.flops, layer.traffic, *p.limits);
  }
  return p;
}

TEST(PredictionText, SaysWhatBoundsAreMissingFor) {
  EXPECT_THAT(text(std::vector{golden().at(0)}),
              HasSubstr("  by bound: not known without the peaks of reference f32 on 1 thread; "
                        "bench_peak measures them, --peaks reads them\n"));
}

TEST(PredictionText, SaysWhatLimitsTheStep) {
  const std::string page = text(std::vector{limited()});
  EXPECT_THAT(page, HasSubstr("  by bound: compute 90.0 %, unknown 10.0 %\n"));
  EXPECT_THAT(page, HasSubstr("  peaks: 10.00 GFLOP/s; a call takes 1.00 us at least; 10.00 GB/s "
                              "from memory\n"));
  EXPECT_THAT(page, HasSubstr("what if: all convolutions at their peak: 1.265 ms a step (-57.8 %); "
                              "memory twice as fast: 3.000 ms a step (+0.0 %)"));
  EXPECT_THAT(page, HasSubstr("  above 100 % of the peak: fc (120.0 %): "));
  EXPECT_THAT(page, HasSubstr("| 73.3 % |                2.112 | compute |  21.1 % |\n"));
  EXPECT_THAT(page, HasSubstr("| conv1            | conv |     2 |     1.10 ms |      232 us | "
                              "compute |  21.1 % |             1.735 |\n"));
}

TEST(PredictionJson, HasWhatLimitsTheStep) {
  const json::value p = to_json(std::vector{limited()}).at("predictions").at(0);
  EXPECT_DOUBLE_EQ(p.at("peaks").at("flops"), 10e9);
  EXPECT_DOUBLE_EQ(p.at("peaks").at("call"), 1e-6);
  const json::value& level = p.at("peaks").at("levels").at(0);
  EXPECT_EQ(level.at("level"), "memory");
  EXPECT_TRUE(level.at("holds").is_null());
  EXPECT_DOUBLE_EQ(level.at("copy"), 8e9);
  EXPECT_EQ(p.at("bounds").at(0).at("bound"), "compute");
  EXPECT_NEAR(p.at("bounds").at(0).at("share"), 0.9, 1e-12);
  EXPECT_EQ(p.at("what_if").at(1).at("change"), "memory twice as fast");
  EXPECT_NEAR(p.at("what_if").at(1).at("seconds_per_step"), 3e-3, 1e-12);
  EXPECT_EQ(p.at("worth_optimising").at(0).at("name"), "conv1");
  EXPECT_NEAR(p.at("worth_optimising").at(0).at("seconds"), 1.7354e-3, 1e-7);
  const json::value& layer = p.at("layers").at(0);
  EXPECT_EQ(layer.at("bound"), "compute");
  EXPECT_NEAR(layer.at("percent_of_peak"), 21.12, 1e-9);
  EXPECT_NEAR(layer.at("seconds_at_peak"), 232.32e-6, 1e-12);
  EXPECT_EQ(layer.at("flops"), 2764800);
  EXPECT_EQ(layer.at("flops_exact"), 2323200);
  EXPECT_EQ(layer.at("bytes"), 1000);
  EXPECT_DOUBLE_EQ(layer.at("arithmetic_intensity"), 2323.2);
  const json::value& relu = p.at("layers").at(1);
  EXPECT_TRUE(relu.at("bound").is_null());
  EXPECT_TRUE(relu.at("percent_of_peak").is_null());
  EXPECT_TRUE(relu.at("bytes").is_null());
}

TEST(PredictionJson, IsTheContract) {
  const json::value all = to_json(golden());
  EXPECT_EQ(all.at("schema"), 1);
  ASSERT_THAT(all.at("predictions"), SizeIs(3));
  const json::value& tiny = all.at("predictions").at(0);
  EXPECT_THAT(keys(tiny), IsSupersetOf({"model",
                                        "phase",
                                        "backend",
                                        "dtype",
                                        "batch",
                                        "threads",
                                        "devices",
                                        "seconds_per_step",
                                        "seconds_low",
                                        "seconds_high",
                                        "images_per_second",
                                        "disturbed",
                                        "coverage",
                                        "missing",
                                        "naive_seconds",
                                        "layers",
                                        "layers_seconds",
                                        "overhead_seconds",
                                        "sampling_low",
                                        "sampling_high",
                                        "protocol_half_width"}));
  EXPECT_DOUBLE_EQ(tiny.at("layers_seconds"), 3e-3);
  EXPECT_EQ(tiny.at("overhead_seconds"), 0);
  EXPECT_DOUBLE_EQ(tiny.at("sampling_low"), 2.8e-3);
  EXPECT_TRUE(tiny.at("protocol_half_width").is_null());
  EXPECT_EQ(tiny.at("model"), "tiny");
  EXPECT_DOUBLE_EQ(tiny.at("seconds_per_step"), 3e-3);
  EXPECT_DOUBLE_EQ(tiny.at("naive_seconds"), 3e-3);
  EXPECT_DOUBLE_EQ(tiny.at("seconds_low"), 2.8e-3);
  EXPECT_DOUBLE_EQ(tiny.at("seconds_high"), 3.19e-3);
  EXPECT_DOUBLE_EQ(tiny.at("images_per_second"), 2 / 3e-3);
  EXPECT_EQ(tiny.at("cache"), "hot");
  EXPECT_EQ(tiny.at("method"), "naive hot sum");
  EXPECT_EQ(tiny.at("partial"), false);
  EXPECT_EQ(tiny.at("rounds"), 3);
  EXPECT_EQ(tiny.at("interval"), "range");
  EXPECT_EQ(tiny.at("interrupted"), false);
  EXPECT_TRUE(tiny.at("missing").empty());
  const json::value& layer = tiny.at("layers").at(0);
  EXPECT_THAT(keys(layer), IsSupersetOf({"name", "op", "pass", "key", "count", "seconds", "share",
                                         "bound", "percent_of_peak"}));
  for (const char* item : {"peaks", "bounds", "what_if", "worth_optimising"}) {
    EXPECT_TRUE(tiny.at(item).is_null()) << item;
  }
  EXPECT_TRUE(layer.at("bound").is_null());
  EXPECT_TRUE(layer.at("percent_of_peak").is_null());
  EXPECT_DOUBLE_EQ(layer.at("seconds"), 1.1e-3);
  EXPECT_EQ(layer.at("count"), 2);
}

TEST(PredictionJson, HasNullsWhereItRefuses) {
  const json::value refused = to_json(golden()).at("predictions").at(2);
  for (const char* item : {"seconds_per_step", "seconds_low", "seconds_high", "images_per_second",
                           "naive_seconds", "interval"}) {
    EXPECT_TRUE(refused.at(item).is_null()) << item;
  }
  EXPECT_DOUBLE_EQ(refused.at("coverage"), 0.5);
  EXPECT_EQ(refused.at("missing"), json::value({"conv1", "fc"}));
  const json::value partial = to_json(golden(true)).at("predictions").at(2);
  EXPECT_EQ(partial.at("partial"), true);
  EXPECT_DOUBLE_EQ(partial.at("seconds_per_step"), 3 * 210e-6);
}

TEST(PredictionCsv, HasOneLineAPrediction) {
  const table t = records(golden());
  ASSERT_THAT(t.rows, SizeIs(3));
  for (const auto& row : t.rows) EXPECT_THAT(row, SizeIs(t.columns.size()));
  EXPECT_EQ(t.rows[2].back(), "conv1 fc");
  EXPECT_THAT(csv(t), HasSubstr("naive hot sum"));
  const auto partial = std::ranges::find(t.columns, "partial", &column::title) - t.columns.begin();
  const auto cell = [&](bool allow) {
    return records(golden(allow)).rows.at(2).at(static_cast<std::size_t>(partial));
  };
  EXPECT_EQ(cell(false), "false");
  EXPECT_EQ(cell(true), "true");
}

}  // namespace report_prediction_test
}  // namespace layerbench::report
