// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"

namespace layerbench::analysis {
namespace analysis_prediction_text_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::keys;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Of the example file, in its order: tiny at batch 2, small, and tiny at batch 4, which lacks
/// layers.
std::vector<prediction> golden(bool allow_partial = false) {
  const std::vector files{result::read(testing::tiny_file)};
  return predict(files, {.models = {}, .allow_partial = allow_partial});
}

TEST(PredictionText, HasTheThroughputItsIntervalAndTheMethod) {
  const prediction p = golden().at(0);
  EXPECT_THAT(headline(p), mentions("tiny", "inference", "reference", "f32", "2", "1"));
  EXPECT_THAT(text(std::vector{p}), StartsWith(headline(p)));
  EXPECT_THAT(remarks(p), mentions("666.7 images/s", "3.000 ms", "2.800", "3.190", "3", p.method));
  EXPECT_THAT(remarks(p), HasSubstr("loop")) << "as hot timings are made";
  EXPECT_EQ(gaps_text(p), "");
}

TEST(PredictionText, HasNoIntervalOfATrainingWhoseStepHasNone) {
  std::vector all{golden().at(0)};
  all[0].model_case.parameters["phase"] = "training";
  const training_run run{90, 1000};
  EXPECT_THAT(text(all, run), HasSubstr(" to "));
  all[0].step->sampling_low = all[0].step->sampling_high = all[0].step->seconds;
  all[0].step->kind = interval_method::none;
  all[0].step->protocol_half_width.reset();
  EXPECT_THAT(text(all, run), Not(HasSubstr(" to ")));
}

TEST(PredictionText, ListsTheHeaviestLayersFirstAndSumsUpTheOthers) {
  const prediction p = golden().at(0);
  const auto all = heaviest_layers(p, 3).rows;
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_THAT(all[0], ElementsAre("conv1", "conv", "2", "1.10 ms", "73.3 %", "2.112"));
  EXPECT_EQ(all[1][0], "fc");
  EXPECT_EQ(all[2][0], "relu1");
  const auto cut = heaviest_layers(p, 2).rows;
  ASSERT_THAT(cut, SizeIs(3));
  EXPECT_EQ(cut[1], all[1]);
  EXPECT_THAT(cut[2], ElementsAre(mentions("1"), "", "", "", "10.0 %", ""));
  EXPECT_THAT(text(std::vector{p}, 2), HasSubstr(text(heaviest_layers(p, 2))));
  EXPECT_THAT(text(std::vector{p}, 0), Not(HasSubstr("| conv1")));
}

TEST(PredictionText, DefinesTheColumnsOfLayersOnce) {
  const std::string all = text(golden(), 2);
  const std::size_t at = all.find("calls per step; equal layers");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(all.find("no padding: "), all.find("| layer"));
  EXPECT_EQ(all.find("calls per step; equal layers", at + 1), std::string::npos);
  EXPECT_THAT(text(golden(), 0), Not(HasSubstr("no padding")));
}

TEST(PredictionText, ListsLayersInTheOrderThatWasAskedFor) {
  const prediction p = golden().at(0);
  const auto names = [&](layer_order by) {
    std::vector<std::string> all;
    for (const layer_time& layer : sorted_layers(p, by)) all.push_back(layer.name);
    return all;
  };
  EXPECT_THAT(names(layer_order::share), ElementsAre("conv1", "fc", "relu1"));
  EXPECT_THAT(names(layer_order::name), ElementsAre("conv1", "fc", "relu1"));
  EXPECT_THAT(names(layer_order::op), ElementsAre("relu1", "conv1", "fc"));
  EXPECT_THAT(names(layer_order::step), ElementsAre("conv1", "relu1", "fc"));
  for (const layer_order by : {layer_order::time, layer_order::gflops}) {
    std::vector<double> keys;
    for (const layer_time& layer : sorted_layers(p, by)) {
      keys.push_back(by == layer_order::time ? layer.seconds
                                             : layer.flops.value_or(0) / layer.seconds);
    }
    EXPECT_TRUE(std::ranges::is_sorted(keys, std::ranges::greater{}));
  }
  EXPECT_EQ(heaviest_layers(p, 1, layer_order::op).rows.at(0).at(0), "relu1");
  EXPECT_THAT(text(std::vector{p}, 1, layer_order::op),
              AllOf(HasSubstr("| relu1"), Not(HasSubstr("| conv1"))));
}

TEST(PredictionText, HasARecordOfEachLayer) {
  const std::vector<prediction> all = golden();
  const table layers = layer_records(all, 2, layer_order::share);
  std::size_t expected = 0;
  for (const prediction& p : all) expected += std::min<std::size_t>(2, p.layers.size());
  ASSERT_THAT(layers.rows, SizeIs(expected));
  EXPECT_EQ(layers.rows[0].size(), layers.columns.size());
  EXPECT_EQ(layers.rows[0][0], all[0].model_case.text());
  EXPECT_EQ(layers.rows[0][2], "conv1");
  EXPECT_EQ(layers.rows[1][2], "fc");
}

TEST(PredictionText, HasTheSharesOfOpsAndOfTheParts) {
  prediction p = golden().at(0);
  const std::size_t layers = p.layers.size();
  const std::string by_op = "conv 73.3 %, gemm 16.7 %, activation 10.0 %";
  EXPECT_THAT(remarks(p), AllOf(HasSubstr(by_op), Not(HasSubstr("forward"))));
  p.model_case.parameters["phase"] = "training";
  p.layers[layers - 1].part = model::step_part::update;
  p.layers[0].pass = "bwd_data";
  EXPECT_THAT(remarks(p), AllOf(HasSubstr(by_op), mentions("forward 83.3 %", "update 16.7 %")));
  EXPECT_EQ(heaviest_layers(p, 1).rows.at(0).at(0), "conv1:bwd_data");
}

TEST(PredictionText, HasNoFlopsForLayersThatDoNone) {
  prediction p = golden().at(0);
  for (layer_time& layer : p.layers) layer.flops = 0;
  const table layers = heaviest_layers(p, 3);
  EXPECT_FALSE(layers.rows.empty());
  for (const auto& row : layers.rows) EXPECT_EQ(row.back(), "") << row.front();
}

TEST(PredictionText, TellsIntervalsApart) {
  const prediction range = golden().at(0);
  prediction p = range;
  p.step->kind = interval_method::bootstrap;
  EXPECT_THAT(remarks(p), mentions("95 %", "2.800", "3.190"));
  EXPECT_NE(remarks(p), remarks(range)) << "few rounds give no 95 % interval";
  p.rounds = 9;
  EXPECT_THAT(remarks(p), AllOf(mentions("9 rounds"), Not(HasSubstr("interrupted"))));
  p.rounds = 1;
  p.interrupted = true;
  p.step->kind = interval_method::none;
  EXPECT_THAT(remarks(p), AllOf(mentions("1 round", "interrupted"), Not(HasSubstr("2.800")),
                                Not(HasSubstr("95 %"))));
}

TEST(PredictionText, HasNoMoreDigitsThanAreKnown) {
  prediction p = golden().at(0);
  const double seconds = p.step->seconds;
  p.step->sampling_low = 0.9 * seconds;
  p.step->sampling_high = 1.3 * seconds;
  const std::string four = format::milliseconds(seconds);
  p.hot_sum_seconds = 1.234e-3;
  p.cache = "model";
  const std::string two = format::milliseconds(seconds, 2);
  p.disturbed = 0.5;
  EXPECT_THAT(remarks(p), mentions(four));
  EXPECT_EQ(summary({&p, 1}).rows.at(0).at(7), four);
  p.disturbed = 0.51;
  EXPECT_THAT(remarks(p), AllOf(mentions(two, "~670", "~1.2", "~60 %"), Not(mentions(four)),
                                Not(HasSubstr("1.234"))));
  EXPECT_THAT(cases_text({&p, 1}), mentions("~670", two, "2.7 to 3.9", "\n~:"));
  EXPECT_EQ(summary({&p, 1}).rows.at(0).at(7), two);
  p.step->seconds = 3.449e-3;
  EXPECT_THAT(remarks(p), mentions("~590 images/s", "~3.4 ms")) << "580 contradicts 2 / 3.4 ms";
}

TEST(PredictionText, HasNoIntervalWhereNothingBoundsTheError) {
  prediction p = golden().at(0);
  p.disturbed = 1;
  p.rounds = 1;
  p.step->sampling_low = p.step->sampling_high = p.step->seconds;
  p.step->kind = interval_method::none;
  EXPECT_THAT(remarks(p), mentions("no interval", "few rounds", "~3.0 ms"));
  EXPECT_THAT(cases_text({&p, 1}), mentions("~3.0", "none", "disturbed, few rounds"));
  const json::value written = to_json({&p, 1}).at("predictions").at(0);
  for (const char* item : {"seconds_low", "seconds_high", "sampling_low", "sampling_high"}) {
    EXPECT_TRUE(written.at(item).is_null()) << item;
  }
  EXPECT_EQ(written.at("interval"), "none");
}

TEST(PredictionText, NamesMissingLayersAndHasNoThroughput) {
  const prediction refused = golden().at(2);
  EXPECT_THAT(gaps_text(refused), mentions("50.0 %", "conv1", "fc"));
  EXPECT_THAT(remarks(refused), AllOf(HasSubstr(gaps_text(refused)), Not(HasSubstr("images/s"))));
  const prediction partial = golden(true).at(2);
  EXPECT_THAT(remarks(partial),
              AllOf(HasSubstr(gaps_text(partial)), HasSubstr("PARTIAL"), mentions("0.6300 ms")));
}

TEST(PredictionText, EndsWithASummaryOfSeveral) {
  const std::vector<prediction> all = golden();
  const auto rows = summary(all).rows;
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0], ElementsAre("tiny", "inference", "reference", "f32", "2", "1", "666.7",
                                   "3.000", "100.0 %", all[0].method));
  EXPECT_THAT(text(all, 10), EndsWith(cases_text(all)));
  const std::vector one{all[0]};
  EXPECT_THAT(text(one, 10), Not(HasSubstr(cases_text(one))));
}

TEST(PredictionText, HasATableOfSeveralCases) {
  std::vector<prediction> all = golden(true);
  all[1].disturbed = 0.5;
  const std::string shown = cases_text(all);
  EXPECT_THAT(shown, StartsWith("inference, reference f32, 1 thread:\n")) << "what all share";
  std::istringstream stream(shown);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_THAT(lines, SizeIs(3 + 3));
  EXPECT_THAT(lines[3], mentions("tiny, batch 2", "666.7", "3.000", "2.800"));
  EXPECT_THAT(lines[3], Not(HasSubstr("disturbed")));
  EXPECT_THAT(lines[4], mentions("small", "disturbed"));
  EXPECT_THAT(lines[5], mentions("> 0.6300", "50.0 %")) << "a partial step";
  EXPECT_THAT(lines[5], Not(HasSubstr(format::rate(all[2].images_per_second()))));
  all[2].step.reset();
  EXPECT_THAT(cases_text(all), AllOf(HasSubstr("50.0 %"), Not(HasSubstr("0.6300"))));
}

TEST(PredictionText, HasNoThroughputOfAnIncompleteStep) {
  const auto has_digits = ::testing::ContainsRegex("[0-9]");
  const auto refused = summary(golden()).rows.at(2);
  EXPECT_THAT(refused[6], Not(has_digits));
  EXPECT_THAT(refused[7], Not(has_digits));
  const auto partial = summary(golden(true)).rows.at(2);
  EXPECT_THAT(partial[6], Not(has_digits));
  EXPECT_EQ(partial[7], "> 0.6300");
  EXPECT_EQ(partial[8], "50.0 %");
}

/// tiny on a machine of 10 GFLOP/s: conv1 reaches 21 % of the peak, fc exceeds it, and the operands
/// of relu1 are not known.
prediction limited() {
  prediction p = golden().at(0);
  p.limits = peaks{"reference", "f32", 1, 10e9, 1e-6, {{"memory", HUGE_VAL, 10e9, 5e9, 8e9}}};
  for (layer_time& layer : p.layers) {
    if (layer.op == "activation") continue;
    layer.traffic = {{1000, 0, false}};
    if (layer.op == "gemm") layer.flops = 6e6;
    layer.roofs = roofs_of(*layer.flops, layer.traffic, *p.limits);
  }
  return p;
}

TEST(PredictionText, NamesTheMissingPeaks) {
  EXPECT_THAT(limits_text(golden().at(0)),
              mentions("reference", "f32", "1", "bench_peak", "--peaks"));
  const std::string all = text(golden());
  const std::size_t at = all.find(limits_text(golden().at(0)));
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(all.find("bench_peak", all.find('\n', at)), std::string::npos) << "once for all cases";
  EXPECT_THAT(all.substr(0, at), Not(HasSubstr("bench_peak")));
}

TEST(PredictionText, HasTheBottlenecksOfTheStep) {
  const prediction p = limited();
  const std::string limits = limits_text(p);
  EXPECT_THAT(limits, HasSubstr("compute 90.0 %, unknown 10.0 %"));
  EXPECT_THAT(limits, mentions("10.00 GFLOP/s", "1.00 us", "10.00 GB/s"));
  EXPECT_THAT(limits, mentions("1.265 ms", "-57.8 %", "3.000 ms", "+0.0 %"));
  EXPECT_THAT(limits, mentions("fc", "120.0 %")) << "above its peak";
  EXPECT_THAT(heaviest_layers(p, 10).rows.at(0),
              ElementsAre("conv1", "conv", "2", "1.10 ms", "73.3 %", "2.112", "compute", "21.1 %"));
  EXPECT_THAT(worth_optimising_table(p).rows,
              ElementsAre(ElementsAre("conv1", "conv", "2", "1.10 ms", "232 us", "compute",
                                      "21.1 %", "1.735")));
  EXPECT_THAT(text(std::vector{p}),
              AllOf(HasSubstr(limits), HasSubstr(text(heaviest_layers(p, 10))),
                    HasSubstr(text(worth_optimising_table(p)))));
}

TEST(PredictionJson, HasTheBottlenecksOfTheStep) {
  const json::value p = to_json(std::vector{limited()}).at("predictions").at(0);
  EXPECT_DOUBLE_EQ(p.at("peaks").at("flops"), 10e9);
  EXPECT_DOUBLE_EQ(p.at("peaks").at("call"), 1e-6);
  const json::value& level = p.at("peaks").at("levels").at(0);
  EXPECT_EQ(level.at("level"), "memory");
  EXPECT_TRUE(level.at("holds").is_null());
  EXPECT_DOUBLE_EQ(level.at("copy"), 8e9);
  EXPECT_EQ(p.at("bounds").at(0).at("bound"), "compute");
  EXPECT_NEAR(p.at("bounds").at(0).at("share"), 0.9, 1e-12);
  EXPECT_THAT(p.at("what_if").at(1).at("change").get<std::string>(), HasSubstr("memory"));
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

TEST(PredictionJson, HasNullsWhileLayersAreMissing) {
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

TEST(PredictionCsv, HasOneRowPerPrediction) {
  const table t = records(golden());
  ASSERT_THAT(t.rows, SizeIs(3));
  for (const auto& row : t.rows) EXPECT_THAT(row, SizeIs(t.columns.size()));
  EXPECT_EQ(t.rows[2].back(), "conv1 fc");
  EXPECT_THAT(csv(t), HasSubstr(",naive hot sum,"));
  const auto partial = std::ranges::find(t.columns, "partial", &column::title) - t.columns.begin();
  const auto cell = [&](bool allow) {
    return records(golden(allow)).rows.at(2).at(static_cast<std::size_t>(partial));
  };
  EXPECT_EQ(cell(false), "false");
  EXPECT_EQ(cell(true), "true");
}

}  // namespace analysis_prediction_text_test
}  // namespace layerbench::analysis
